# SPDX-License-Identifier: MIT
"""The kinds of values in a study's tables: their names, units and formats."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from mptcplab.metrics.registry import METRICS

#: ``share:LINK`` is the share of the payload that went over a link.
SHARE = "share"
#: Jain's index of one run, over a metric of its workloads.
JAIN = {"jain": "goodput_mbps", "jain_sent": "sent_mbps"}
#: ``min:METRIC`` is the smallest value that the workloads of one run have, and so on.
OVER: Mapping[str, Callable[[Sequence[float]], float]] = {"min": min, "max": max, "mean": fmean, "sum": math.fsum}


@dataclass(frozen=True)
class Kind:
    """Values that one figure can show: the name of the vertical axis, its unit, and the lowest value at its origin.

    ``digits`` is the number of decimals if the usual number would hide relevant differences.
    """

    axis: str
    unit: str
    lowest: float = 0.0
    digits: int | None = None


#: Kinds by the name of a value up to its colon. Jain's index of two cannot be less than 0.5.
KINDS: dict[str, Kind] = {
    "jain": Kind("Jain's index", "", lowest=0.5, digits=3),
    "jain_sent": Kind("Jain's index at the senders", "", lowest=0.5, digits=3),
    "ratio": Kind("ratio", ""),
    SHARE: Kind("share of the payload", "%"),
    **{
        name: Kind(metric.display.axis or metric.noun, metric.unit, metric.display.lowest, metric.display.digits)
        for name, metric in METRICS.items()
    },
}


def kind_name(value: str) -> str:
    """Return the name of ``value`` in :data:`KINDS`: all shares are of one kind, and the smallest value of a metric is
    of the metric's kind.
    """
    over = over_of(value)
    return value.partition(":")[0] if over is None else over[1]


def kind_of(value: str) -> Kind:
    """Return the kind of a value that :func:`check_value` has accepted."""
    return KINDS[kind_name(value)]


def link_of(value: str) -> str | None:
    """Return the link of ``share:LINK``; None for any other value."""
    kind, _, link = value.partition(":")
    return link if kind == SHARE else None


def over_of(value: str) -> tuple[str, str] | None:
    """Return the name in :data:`OVER` and the metric of ``min:METRIC`` and its like; None for any other value."""
    over, _, metric = value.partition(":")
    return (over, metric) if over in OVER and metric in METRICS else None


def check_value(value: str) -> str:
    """Return ``value``. :raises ValueError: if it is unknown, with the closest match."""
    if over_of(value) is not None:
        return value
    kind, colon, link = value.partition(":")
    if kind in OVER:
        raise ValueError(f"'{value}' needs a metric: {kind}:METRIC, as in {kind}:goodput_mbps")
    if kind == SHARE and not link:
        raise ValueError("a share needs a link: share:LINK")
    if kind not in KINDS or (colon and kind != SHARE):
        near = difflib.get_close_matches(value, KINDS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"values: {', '.join(KINDS)}"
        raise ValueError(f"there is no value '{value}' ({hint})")
    return value
