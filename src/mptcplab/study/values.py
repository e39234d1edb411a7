# SPDX-License-Identifier: MIT
"""What the cells of a study's tables may be values of: what each is called, its unit, and how it is written."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from mptcplab.metrics.registry import METRICS

#: ``share:LINK`` is the part of the payload that went over a line.
SHARE = "share"
#: Jain's index of one run: of a value of its workloads.
JAIN = {"jain": "goodput_mbps", "jain_sent": "sent_mbps"}


@dataclass(frozen=True)
class Kind:
    """Values that one figure can show: what the vertical axis is called, its unit and where it begins at least.

    ``digits`` are those behind the point where the usual number of them would hide what matters.
    """

    axis: str
    unit: str
    lowest: float = 0.0
    digits: int | None = None


#: By the name of a value up to its colon. Jain's index of two cannot be less than a half.
KINDS: dict[str, Kind] = {
    "jain": Kind("Jain's index", "", lowest=0.5, digits=3),
    "jain_sent": Kind("Jain's index at the senders", "", lowest=0.5, digits=3),
    "ratio": Kind("ratio", ""),
    SHARE: Kind("share of the payload", "%"),
    **{name: Kind(one.axis or one.noun, one.unit, one.lowest, one.digits) for name, one in METRICS.items()},
}


def kind_name(value: str) -> str:
    """What ``value`` is called in :data:`KINDS`: all shares are of one kind."""
    return value.partition(":")[0]


def kind_of(value: str) -> Kind:
    """The kind of a value that :func:`check_value` has passed."""
    return KINDS[kind_name(value)]


def line_of(value: str) -> str | None:
    """The line of ``share:LINK``; None for any other value."""
    kind, _, line = value.partition(":")
    return line if kind == SHARE else None


def check_value(value: str) -> str:
    """``value`` itself. :raises ValueError: when there is no such value, with the nearest that there is."""
    kind, colon, line = value.partition(":")
    if kind == SHARE and not line:
        raise ValueError("a share is that of a line: share:LINK")
    if kind not in KINDS or (colon and kind != SHARE):
        near = difflib.get_close_matches(value, KINDS, n=1)
        said = f"did you mean {near[0]}?" if near else f"values: {', '.join(KINDS)}"
        raise ValueError(f"there is no value '{value}' ({said})")
    return value
