# SPDX-License-Identifier: MIT
"""Changes of the network in a run, from ``events.parquet``; docs/events.md has their kinds."""

from __future__ import annotations

from dataclasses import dataclass

from mptcplab.recording.record import Recording

_BOTH = "both"


@dataclass(frozen=True)
class NetworkEvent:
    """A change of ``link``, which is the name of a gateway or node for the kinds of events that these have.

    ``direction`` is ``both`` unless it changes one. ``value`` is empty if the event sets none.
    """

    instant_ns: int
    kind: str
    link: str
    direction: str = _BOTH
    value: str = ""


def read_events(recording: Recording) -> list[NetworkEvent]:
    """Return the changes of the network, in the order in which they are recorded."""
    rows = recording.events.iter_rows(named=True)
    return [
        NetworkEvent(
            int(row["instant_ns"]), row["kind"], row["link"], row.get("direction") or _BOTH, row.get("value") or ""
        )
        for row in rows
    ]
