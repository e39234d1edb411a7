# SPDX-License-Identifier: MIT
"""The scenario of an observation: every value has a comment that says where it comes from."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from mptcplab.fit.lines import FRAME, Estimate, Line, format_rate, format_share, format_time
from mptcplab.fit.observation import Observation
from mptcplab.scenario.writing import CommentedValue

#: The first line of every file that `mptcplab fit` writes: it may be written again.
MARK = "Written by `mptcplab fit`."
#: Name of the twin's only workload.
TRANSFER = "transfer"
#: Runs of a twin, each with its own seed.
REPEATS = 8
_DEFAULT_DURATION_S, _MIN_DURATION_S, _MAX_DURATION_S = 10.0, 2.0, 60.0
_MAX_BUFFER = 256 << 20
_NUMBERS = re.compile(r"\d{1,12}")


def build_twin(
    observation: Observation, *, controls: Collection[str] = (), schedulers: Collection[str] = ()
) -> dict[str, Any]:
    """Return the scenario's tables. ``controls`` and ``schedulers`` are what the lab has; others are left out."""
    lines = observation.lines
    links: dict[str, Any] = {}
    for number, line in enumerate(lines, start=1):
        about = f"{line.name}: payload from {line.sender} to {line.receiver}"
        links[f"link{number}"] = CommentedValue(_link(line), about)
    downloads = not lines[0].sender_opens
    tables: dict[str, Any] = {
        "title": f"The twin of {observation.name}",
        "question": "Does the twin do what was observed, and what would change it?",
        "repeats": REPEATS,
        "topology": {"preset": "disjoint-paths", "paths": len(lines)},
        "transport": _transport(observation, controls, schedulers),
    }
    backups = [number for number, line in enumerate(lines, start=1) if line.name in observation.backups]
    later = [number for number in backups if number > 1]
    if later:
        endpoints = [
            {"link": f"link{number}", "flags": ["signal", *(["backup"] if number in later else [])]}
            for number in range(2, len(lines) + 1)
        ]
        about = "measured: its endpoint has the flag backup; here the server's endpoint has it"
        tables["hosts"] = {"server": {"transport": {"endpoints": CommentedValue(endpoints, about)}}}
    return {**tables, "links": links, "workloads": {TRANSFER: _workload(observation, downloads=downloads)}}


def _link(line: Line) -> dict[str, Any]:
    """Return a link: its delay, what limits the direction of the payload, and the other direction."""
    delay = CommentedValue(
        format_time(line.rtt.value / 2),
        f"half of the round trip {format_time(line.rtt.value)}; {line.rtt.origin(format_time)}",
    )
    there: dict[str, Any] = {
        "rate": CommentedValue(format_rate(line.rate.value), line.rate.origin(format_rate)),
        "queue": CommentedValue(_queue_text(line), _queue_origin(line)),
    }
    loss = _loss(line.loss)
    if loss is not None:
        there["loss"] = loss
    back: dict[str, Any] = {}
    if line.back_rate is not None:
        back["rate"] = CommentedValue(format_rate(line.back_rate.value), line.back_rate.origin(format_rate))
    names = ("forward", "backward") if line.sender_opens else ("backward", "forward")
    about = "" if back else "The other direction is assumed to be free: nothing is known about it."
    table: dict[str, Any] = {"delay": delay, names[0]: CommentedValue(there, about) if about else there}
    if back:
        table[names[1]] = back
    return table


def _queue_text(line: Line) -> str:
    size = max(round(line.queue_bytes), FRAME)
    return f"{size} B"


def _queue_origin(line: Line) -> str:
    size = f"{format_time(line.queue.value)} or {line.queue_packets:.3g} full packets at this rate"
    return f"{size}; {line.queue.origin(format_time)}"


def _loss(loss: Estimate) -> CommentedValue | None:
    """Return the random loss; None if there is none. An upper bound is not taken for a value."""
    if loss.kind == "bound":
        return CommentedValue("0 %", f"{loss.origin(format_share)}; the twin has none")
    if loss.value <= 0:
        return None
    return CommentedValue(f"{max(round(loss.value * 1e6), 1)} ppm", loss.origin(format_share))


def _transport(observation: Observation, controls: Collection[str], schedulers: Collection[str]) -> dict[str, Any]:
    transfer = observation.transfer
    protocol = transfer.protocol if transfer is not None else "mptcp"
    about = "measured: as in the observed transfer" if transfer is not None else "assumed"
    transport: dict[str, Any] = {"protocol": CommentedValue(protocol, about)}
    for key, known in (("congestion_control", controls), ("scheduler", schedulers)):
        if key not in observation.settings or (key == "scheduler" and protocol != "mptcp"):
            continue
        value, where = observation.settings[key]
        if value in known:
            transport[key] = CommentedValue(value, f"measured: {where}")
        else:
            default = "cubic" if key == "congestion_control" else "default"
            transport[key] = CommentedValue(default, f"assumed: the lab has no {value[:40]} ({where})")
    for key in ("tcp_rmem", "tcp_wmem"):
        if key in observation.settings:
            value, where = observation.settings[key]
            sizes = [min(int(word), _MAX_BUFFER) for word in _NUMBERS.findall(value)]
            if len(sizes) == 3 and 0 < sizes[0] <= sizes[1] <= sizes[2]:
                transport[key] = CommentedValue(
                    [f"{size} B" for size in sizes], f"measured: {where}; assumed for the other end"
                )
    return transport


def _workload(observation: Observation, *, downloads: bool) -> dict[str, Any]:
    transfer = observation.transfer
    if transfer is None:
        duration: Any = CommentedValue(format_time(_DEFAULT_DURATION_S), "assumed: no transfer was observed")
    else:
        seconds = min(max(transfer.duration_s, _MIN_DURATION_S), _MAX_DURATION_S)
        about = f"measured: the observed transfer took {transfer.duration_s:.3g} s"
        duration = CommentedValue(f"{round(seconds * 1000)} ms", about)
    workload: dict[str, Any] = {"kind": "flow", "from": "client", "to": "server"}
    if downloads:
        workload["reverse"] = True
    return {**workload, "duration": duration}


def set_key(tables: Mapping[str, Any], key: str, value: Any) -> dict[str, Any]:
    """Return plain tables with one dotted key changed, or removed if ``value`` is None."""
    first, _, rest = key.partition(".")
    if rest:
        return {**tables, first: set_key(tables.get(first, {}), rest, value)}
    changed = {name: entry for name, entry in tables.items() if name != first}
    return changed if value is None else {**tables, first: value}


def limits_text(observation: Observation) -> str:
    """Return what the twin does not know or does not have, for the heading of its file."""
    unknown = [
        f"{noun} of {line.name}"
        for line in observation.lines
        for noun, estimate in (
            ("rate", line.rate),
            ("round trip", line.rtt),
            ("queue", line.queue),
            ("loss", line.loss),
        )
        if not estimate.is_known
    ]
    identified = (
        f"Not identified: {', '.join(unknown)}." if unknown else "All rates, round trips, queues and losses are known."
    )
    return "\n".join((identified, *(f"Warning: {sign}." for sign in observation.signs)))
