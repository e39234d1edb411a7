# SPDX-License-Identifier: MIT
"""The content of a collection: its lines, the transfer that was observed, and the settings of its hosts."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from mptcplab.capture.packet import read_packets
from mptcplab.errors import InputError
from mptcplab.explain.evidence import Subflow, address_of
from mptcplab.explain.readers.collection import open_collection
from mptcplab.explain.readers.facts import HostFacts
from mptcplab.explain.readers.host import subflows_of
from mptcplab.explain.sources import read_texts
from mptcplab.fit.lines import Line, estimate_from_samples, estimate_line, round_trips_in
from mptcplab.fit.packets import FlowTrace, PathReader, PathTrace
from mptcplab.fit.signs import signs_at_hosts
from mptcplab.fit.typed import Direction, TypedLine, complete_lines, line_of, read_typed

#: A path is a line if it carried this share of all payload, and this number of bytes.
_MIN_SHARE, _MIN_PAYLOAD = 0.01, 100_000
_MAX_LINES = 8
_SETTINGS = {
    "net.ipv4.tcp_congestion_control": "congestion_control",
    "net.mptcp.scheduler": "scheduler",
    "net.ipv4.tcp_rmem": "tcp_rmem",
    "net.ipv4.tcp_wmem": "tcp_wmem",
}


@dataclass(frozen=True, kw_only=True)
class Transfer:
    """The transfer that the twin repeats: the MPTCP connection, or else the TCP connection, with the most payload.

    ``shares``, ``rtt_s`` (median under load) are by the names of lines. ``retransmitted`` is a share of what was sent.
    """

    protocol: str
    duration_s: float
    goodput_bps: float
    retransmitted: float
    shares: dict[str, float] = field(default_factory=dict)
    rtt_s: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Observation:
    """Everything that the twin is made of. ``settings`` are keys of a transport, each with where it was read.

    ``backups`` are names of lines whose endpoint is a backup. ``notes`` say what was left out, ``signs`` what is on the
    way that the twin does not have.
    """

    name: str
    lines: tuple[Line, ...]
    transfer: Transfer | None = None
    settings: dict[str, tuple[str, str]] = field(default_factory=dict)
    backups: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()


def observe_all(files: Sequence[Path], typed: Sequence[TypedLine], direction: Direction) -> Observation:
    """Return what files and typed lines show together. A TOML file has typed lines, too.

    ``direction`` is the payload's, for lines that no other file shows.

    :raises InputError: if there is nothing to read, if a line is described twice, or if typed values are of a line that
        the files do not show. :raises MissingError: as :func:`observe` does.
    """
    collections = [file for file in files if file.suffix != ".toml"]
    all_typed = [*typed, *(line for file in files if file.suffix == ".toml" for line in read_typed(file))]
    names = [line.name for line in all_typed]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"line '{twice}' is described twice", hint="leave one out")
    if not collections:
        if not all_typed:
            hint = "name what `mptcplab collect` gathered, or describe lines with --line; see mptcplab fit --help"
            raise InputError("there is nothing to fit", hint=hint)
        lines = tuple(line_of(line, direction) for line in all_typed)
        return Observation(name=", ".join(names), lines=lines)
    observation = observe(collections)
    lines_now, unknown = complete_lines(observation.lines, all_typed)
    if unknown:
        known = ", ".join(line.name for line in observation.lines)
        raise InputError(f"the files show no line '{unknown[0].name}'", hint=f"their lines are {known}")
    return replace(observation, lines=tuple(lines_now))


def observe(paths: Sequence[Path]) -> Observation:
    """Read collections, captures and texts. Nothing in them is run.

    :raises InputError: if a file cannot be read, or none of them shows a line.
    :raises MissingError: if there are captures, and tshark is not installed.
    """
    with tempfile.TemporaryDirectory(prefix="mptcplab-fit-") as scratch:
        collections = [open_collection(path, Path(scratch)) for path in paths]
        sources = read_texts(collections)
        captures = [capture for collection in collections for capture in collection.captures]
        traces = _complete(PathReader().read(read_packets(captures))) if captures else []
    traces = list(_select_paths(traces))
    if traces:
        ordered = _in_order(traces)
        lines = [estimate_line(trace, f"line{number}") for number, trace in enumerate(ordered, start=1)]
        transfer = _captured_transfer(ordered, lines)
    else:
        sockets = [subflow for host in sources.facts.values() for subflow in subflows_of(host, with_plain=True)]
        lines, transfer = _read_samples(sockets)
    if not lines:
        raise InputError(
            "the files show no line: there is neither a capture with payload nor samples of `ss -ti` with round trips",
            hint="collect at the machine that sends, as root, while it does: sh collect.sh -t 30 -n 200000",
        )
    facts = list(sources.facts.values())
    return Observation(
        name=", ".join(collection.name for collection in collections),
        lines=tuple(lines),
        transfer=transfer,
        settings=_settings(facts),
        backups=_backups(facts, lines),
        notes=tuple(sources.skipped),
        signs=(*(sign for line in lines for sign in line.signs), *signs_at_hosts(facts)),
    )


def _complete(traces: list[PathTrace]) -> list[PathTrace]:
    """Return each path once: of two captures, the one at the sender shows more."""
    best: dict[tuple[str, str], PathTrace] = {}
    for trace in traces:
        key = (trace.sender, trace.receiver)
        known = best.get(key)
        if known is None or (trace.at_sender and not known.at_sender):
            best[key] = trace
    return list(best.values())


def _select_paths(traces: Sequence[PathTrace]) -> Iterator[PathTrace]:
    """Yield the paths that carried enough to be measured, and not paths that carried only answers in return."""
    total = sum(trace.payload for trace in traces)
    for trace in sorted(traces, key=lambda trace: -trace.payload)[:_MAX_LINES]:
        back = next((o for o in traces if (o.sender, o.receiver) == (trace.receiver, trace.sender)), None)
        is_answer = back is not None and back.payload > trace.payload
        if trace.payload >= max(_MIN_PAYLOAD, _MIN_SHARE * total) and not is_answer:
            yield trace


def _in_order(traces: Sequence[PathTrace]) -> list[PathTrace]:
    """Return paths in the order in which the observed transfer began to use them."""
    members = _members(traces)
    begin = {id(trace): flow.begin_s for trace, flow in members}
    return sorted(traces, key=lambda trace: (begin.get(id(trace), float("inf")), -trace.payload))


def _members(traces: Sequence[PathTrace]) -> list[tuple[PathTrace, FlowTrace]]:
    """Return the subflows of the transfer: the largest one, and on each other path the largest one of its time."""
    flows = [(trace, flow) for trace in traces for flow in trace.flows.values() if flow.payload]
    candidates = [pair for pair in flows if pair[1].is_mptcp] or flows
    if not candidates:
        return []
    first = max(candidates, key=lambda pair: pair[1].payload)
    members = [first]
    if first[1].is_mptcp:
        for trace in traces:
            beside = [
                flow
                for flow in trace.flows.values()
                if trace is not first[0]
                and flow.is_mptcp
                and flow.begin_s < first[1].end_s
                and flow.end_s > first[1].begin_s
            ]
            if beside:
                members.append((trace, max(beside, key=lambda flow: flow.payload)))
    return members


def _captured_transfer(traces: Sequence[PathTrace], lines: Sequence[Line]) -> Transfer | None:
    members = _members(traces)
    if not members:
        return None
    names = {(line.sender, line.receiver): line.name for line in lines}
    begin = min(flow.begin_s for _, flow in members)
    end = max(flow.end_s for _, flow in members)
    payload = sum(flow.payload for _, flow in members)
    sent = sum(flow.sent + flow.retransmitted for _, flow in members)
    if end - begin <= 0 or not payload:
        return None
    rtt = {}
    for trace, _ in members:
        middle = round_trips_in(trace, begin, end)
        if middle is not None:
            rtt[names[trace.sender, trace.receiver]] = middle
    return Transfer(
        protocol="mptcp" if any(flow.is_mptcp for _, flow in members) else "tcp",
        duration_s=end - begin,
        goodput_bps=8 * payload / (end - begin),
        retransmitted=sum(flow.retransmitted for _, flow in members) / max(sent, 1),
        shares={names[trace.sender, trace.receiver]: flow.payload / payload for trace, flow in members},
        rtt_s=rtt,
    )


def _read_samples(subflows: Sequence[Subflow]) -> tuple[list[Line], Transfer | None]:
    """Return lines and the transfer as samples of sockets at the sender show them."""
    by_path: dict[tuple[str, str], list[Subflow]] = {}
    for subflow in subflows:
        key = tuple(address_of(end) for end in (subflow.local, subflow.remote))
        if (subflow.last("bytes_acked") or 0) >= _MIN_PAYLOAD:
            by_path.setdefault((key[0], key[1]), []).append(subflow)
    lines: list[Line] = []
    kept: list[list[Subflow]] = []
    for members in by_path.values():
        try:
            lines.append(estimate_from_samples(members, f"line{len(lines) + 1}"))
        except ValueError:
            continue
        kept.append(members)
    every = [(line, subflow) for line, members in zip(lines, kept, strict=True) for subflow in members]
    if not every:
        return [], None
    first = max(every, key=lambda pair: (bool(pair[1].is_mptcp), pair[1].last("bytes_acked") or 0.0))[1]
    chosen = [pair for pair in every if pair[1].connection == first.connection]
    begin = min(subflow.samples[0].time_s for _, subflow in chosen)
    end = max(subflow.samples[-1].time_s for _, subflow in chosen)
    payload = {line.name: _growth(subflow, "bytes_acked") for line, subflow in chosen}
    sent = sum(_growth(subflow, "bytes_sent") for _, subflow in chosen)
    total = sum(payload.values())
    if end <= begin or total <= 0:
        return lines, None
    return lines, Transfer(
        protocol="mptcp" if first.is_mptcp else "tcp",
        duration_s=end - begin,
        goodput_bps=8 * total / (end - begin),
        retransmitted=sum(_growth(subflow, "bytes_retrans") for _, subflow in chosen) / sent if sent else 0.0,
        shares={name: acked / total for name, acked in payload.items()},
        rtt_s={line.name: middle for line, subflow in chosen if (middle := subflow.median("rtt_s")) is not None},
    )


def _growth(subflow: Subflow, name: str) -> float:
    values = subflow.values(name)
    return values[-1] - values[0] if len(values) > 1 else 0.0


def _settings(facts: Sequence[HostFacts]) -> dict[str, tuple[str, str]]:
    """Return settings of the transport with the host and the name under which each was read."""
    settings: dict[str, tuple[str, str]] = {}
    for host in facts:
        for sysctl, key in _SETTINGS.items():
            if sysctl in host.sysctls and key not in settings:
                settings[key] = (host.sysctls[sysctl], f"{sysctl} of {host.name}")
    return settings


def _backups(facts: Sequence[HostFacts], lines: Sequence[Line]) -> frozenset[str]:
    addresses = {endpoint.address for host in facts for endpoint in host.endpoints or () if "backup" in endpoint.flags}
    return frozenset(line.name for line in lines if {line.sender, line.receiver} & addresses)
