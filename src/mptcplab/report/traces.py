# SPDX-License-Identifier: MIT
"""Describe links that follow a trace by what the trace contains, for pictures and tables of the network.

The manifest has one value per key; the plan beside it has all steps of the trace.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mptcplab.network.words import with_trace_ranges
from mptcplab.recording.record import Recording

Table = Mapping[str, Any]
_DIRECTIONS = ("forward", "backward")


def trace_steps(recording: Recording) -> Iterator[tuple[str, str, str]]:
    """Yield link, direction and values (``rate 5 Mbit/s, loss 1 %``) of all steps; nothing without a readable plan."""
    try:
        events = json.loads((recording.folder / "plan.json").read_text())["plan"]["events"]
    except (OSError, ValueError, LookupError):
        return
    yield from ((event["link"], event["direction"], event["value"]) for event in events if event["kind"] == "trace")


def with_traces(links: Mapping[str, Table], recording: Recording) -> dict[str, Table]:
    """Return the recording's links by name with the ranges of their traces."""
    if not any((link.get(side) or {}).get("trace") for link in links.values() for side in _DIRECTIONS):
        return dict(links)
    traces: dict[tuple[str, str], list[str]] = {}
    for link, side, value in trace_steps(recording):
        traces.setdefault((link, side), []).append(value)
    return {
        name: {
            **link,
            **{
                side: with_trace_ranges(link[side], traces[name, side])
                for side in _DIRECTIONS
                if (name, side) in traces
            },
        }
        for name, link in links.items()
    }
