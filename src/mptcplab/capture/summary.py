# SPDX-License-Identifier: MIT
"""The results of an analysis as plain data: for tables, figures and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mptcplab.capture.analysis import Analysis
from mptcplab.capture.connection import MptcpConnection
from mptcplab.capture.tcp import HalfConnection, SubflowEvent, TcpFlow

_SECOND = 1e9
#: Segments in a packet from which on it was captured before segmentation by the host's network card or driver.
_SUPER_PACKET = 2
#: Types of JSON data that are written as they are.
_FINAL = (str, int, float, bool)
_NEVER_ESTABLISHED = ("no answer", "refused", "unknown")


@dataclass(frozen=True)
class Direction:
    """One direction of a subflow or TCP connection.

    ``payload_bytes`` counts every byte once, ``sent_bytes`` every time it was sent, as seen in the file ``seen_in``.
    The difference is ``retransmitted_bytes``, unless several vantage points saw different packets. ``unseen_bytes``
    were acknowledged, but are not in the capture. ``reinjected_bytes`` carry data that was sent before, on this or
    another subflow, under another subflow sequence number. ``share`` is the subflow's share of the connection's payload
    in this direction.
    """

    payload_bytes: int
    sent_bytes: int
    packets: int
    retransmitted_bytes: int
    retransmitted_packets: int
    reinjected_bytes: int
    unseen_bytes: int
    share: float | None
    seen_in: str | None


@dataclass(frozen=True)
class CapturedSubflow:
    """One subflow. ``ends``, ``address_ids`` and ``backup`` are by side; times are in seconds from the first packet.

    ``began`` is ``capable``, ``join``, ``before`` (the capture) or ``unknown``. ``recognised_by`` is what assigned it
    to its connection: ``keys``, ``token`` or (data sequence) ``numbers``. ``initiator`` is the side that sent the SYN;
    ``state`` is how far the handshake got, or how the subflow ended; ``unknown`` if the capture has only SYNs, and
    answers cannot be in it. ``directions`` are from side 0, and from side 1.
    """

    number: int
    ends: tuple[str, str]
    began: str
    recognised_by: str | None
    initiator: int | None
    address_ids: tuple[int | None, int | None]
    backup: tuple[bool, bool]
    start_s: float
    end_s: float
    state: str
    has_super_packets: bool
    directions: tuple[Direction, Direction]


@dataclass(frozen=True)
class OptionRecord:
    """An MPTCP option or signal: its time, subflow, sending side, kind and values."""

    time_s: float
    subflow: int
    side: int
    kind: str
    about: dict[str, Any]


@dataclass(frozen=True)
class ConnectionSummary:
    """One connection that is MPTCP, or requested it. Tokens and data are by side: side 0 opened it.

    ``data_bytes`` counts every byte that a side sent once; ``fallback`` is the reason if the connection is plain TCP,
    and ``fallback_s`` when it fell back, if it was MPTCP at first. ``gaps`` says what is not in the capture, and why.
    """

    number: int
    version: int | None
    tokens: tuple[str | None, str | None]
    start_s: float
    end_s: float
    checksum: bool
    fallback: str | None
    fallback_s: float | None
    data_bytes: tuple[int, int]
    reinjected_bytes: tuple[int, int]
    data_acked: tuple[bool | None, bool | None]
    subflows: tuple[CapturedSubflow, ...]
    events: tuple[OptionRecord, ...]
    events_left_out: int
    notes: tuple[str, ...]
    gaps: tuple[str, ...]


@dataclass(frozen=True)
class TcpSummary:
    """A TCP connection without MPTCP."""

    ends: tuple[str, str]
    start_s: float
    end_s: float
    state: str
    directions: tuple[Direction, Direction]


@dataclass(frozen=True)
class Summary:
    """A whole capture. ``*_only_counted`` are connections beyond the number that is tracked.

    ``copies`` are packets among the ``tcp_packets`` that one place saw a second time. They count nowhere else.
    """

    files: tuple[str, ...]
    tcp_packets: int
    copies: int
    start_ns: int | None
    duration_s: float | None
    connections: tuple[ConnectionSummary, ...]
    tcp: tuple[TcpSummary, ...]
    connections_only_counted: int
    tcp_only_counted: int
    tcp_payload_bytes: int

    def document(self) -> dict[str, Any]:
        """Return the summary as JSON data."""
        document: dict[str, Any] = _to_json(self)
        return document


def _to_json(value: Any) -> Any:
    """Return a part of a summary as JSON data. `asdict` takes several times as long: it copies what cannot change."""
    if value is None or isinstance(value, _FINAL):
        return value
    if isinstance(value, tuple):
        return tuple(map(_to_json, value))
    return {name: _to_json(part) for name, part in (value if isinstance(value, dict) else vars(value)).items()}


def summarise(analysis: Analysis, files: Sequence[str]) -> Summary:
    """Return the results of ``analysis``; ``files`` are the names of the files by their numbers."""
    connections = [*analysis.connections.values(), *analysis.unassigned]
    for connection in connections:
        connection.complete()
    flows = [*analysis.plain.values(), *(flow for connection in connections for flow, _ in connection.flows)]
    summarizer = _Summarizer(files, analysis.start_ns or 0, _one_way_files(flows))
    plain = [summarizer.tcp(flow) for flow in analysis.plain.values() if not flow.has_mptcp]
    forgotten = analysis.forgotten_plain
    return Summary(
        files=tuple(files),
        tcp_packets=analysis.packets,
        copies=analysis.copies,
        start_ns=analysis.start_ns,
        duration_s=summarizer.seconds(analysis.end_ns) if analysis.packets else None,
        connections=tuple(summarizer.connection(connection) for connection in connections),
        tcp=tuple(plain),
        connections_only_counted=analysis.forgotten_connections.count,
        tcp_only_counted=forgotten.count,
        tcp_payload_bytes=forgotten.payload
        + sum(half.payload_bytes for summary in plain for half in summary.directions),
    )


class _Summarizer:
    """Makes summaries of connections; ``files``, ``start_ns`` and the files of one direction belong to the capture."""

    def __init__(self, files: Sequence[str], start_ns: int, one_way_files: set[int]) -> None:
        self._files, self._start_ns, self._one_way_files = files, start_ns, one_way_files

    def seconds(self, time_ns: int) -> float:
        """Return a time in seconds from the first packet."""
        return (time_ns - self._start_ns) / _SECOND

    def connection(self, connection: MptcpConnection) -> ConnectionSummary:
        """Summarise one connection, with its subflows in the order in which they began."""
        members = sorted(connection.flows, key=lambda member: (member[0].start_ns, member[0].number))
        numbers = {flow.number: number for number, (flow, _) in enumerate(members, start=1)}
        fallback, fallback_ns = self._fallback(connection)
        spaces = connection.spaces
        totals = tuple(sum(_direction_from(flow, side, sender).fresh for flow, side in members) for sender in (0, 1))
        unmapped = [sum(_direction_from(flow, side, sender).unmapped for flow, side in members) for sender in (0, 1)]
        data = [space.total + (plain if fallback else 0) for space, plain in zip(spaces, unmapped, strict=True)]
        reinjected = tuple(sum(space.reinjected.values()) for space in spaces)
        return ConnectionSummary(
            number=connection.number,
            version=connection.version,
            tokens=(_hex(connection.tokens[0]), _hex(connection.tokens[1])),
            start_s=self.seconds(min(flow.start_ns for flow, _ in members)),
            end_s=self.seconds(max(flow.end_ns for flow, _ in members)),
            checksum=connection.checksum_asked or any(flow.has_checksum for flow, _ in members),
            fallback=fallback,
            fallback_s=None if fallback_ns is None else self.seconds(fallback_ns),
            data_bytes=(data[0], data[1]),
            reinjected_bytes=(reinjected[0], reinjected[1]),
            data_acked=(_is_acked(connection, 0), _is_acked(connection, 1)),
            subflows=tuple(
                self._subflow(connection, flow, side, numbers[flow.number], (totals[0], totals[1]))
                for flow, side in members
            ),
            events=tuple(
                self._record(event, connection, numbers)
                for event in sorted(connection.events, key=lambda event: event.time_ns)
            ),
            events_left_out=connection.more_events,
            notes=tuple(self._notes(connection, bool(fallback))),
            gaps=tuple(_gaps(members)),
        )

    def _subflow(
        self, connection: MptcpConnection, flow: TcpFlow, side: int, number: int, totals: tuple[int, int]
    ) -> CapturedSubflow:
        by_option = "join" if flow.is_join else "capable" if flow.is_capable else None
        began = by_option or ("unknown" if any(half.has_syn for half in flow.halves) else "before")
        ids = flow.address_ids if flow.is_join or not flow.is_capable else [0, 0]
        directions = []
        for sender in (0, 1):
            reinjected = connection.spaces[sender].reinjected.get(flow.number, 0)
            directions.append(self._direction(_direction_from(flow, side, sender), totals[sender], reinjected))
        return CapturedSubflow(
            number=number,
            ends=(str(flow.ends[side]), str(flow.ends[1 - side])),
            began=began,
            recognised_by=flow.recognised_by or ("token" if flow.join_token is not None else None),
            initiator=side if flow.initiated else None,
            address_ids=(ids[side], ids[1 - side]),
            backup=(flow.backup[side], flow.backup[1 - side]),
            start_s=self.seconds(flow.start_ns),
            end_s=self.seconds(flow.end_ns),
            state=self._state(flow),
            has_super_packets=any(_has_super_packets(half) for half in flow.halves),
            directions=(directions[0], directions[1]),
        )

    def tcp(self, flow: TcpFlow) -> TcpSummary:
        """Summarise a TCP connection without MPTCP."""
        first, second = (self._direction(half, 0, 0) for half in flow.halves)
        start, end = self.seconds(flow.start_ns), self.seconds(flow.end_ns)
        return TcpSummary((str(flow.ends[0]), str(flow.ends[1])), start, end, flow.ended, (first, second))

    def _direction(self, half: HalfConnection, total: int, reinjected: int) -> Direction:
        best = half.best
        view = best[1] if best else None
        return Direction(
            payload_bytes=half.fresh,
            sent_bytes=view.payload if view else 0,
            packets=view.packets if view else 0,
            retransmitted_bytes=view.retransmitted_bytes if view else 0,
            retransmitted_packets=view.retransmitted_packets if view else 0,
            reinjected_bytes=reinjected,
            unseen_bytes=half.unseen,
            share=half.fresh / total if total else None,
            seen_in=self._files[best[0].file] if best else None,
        )

    def _record(self, event: SubflowEvent, connection: MptcpConnection, numbers: dict[int, int]) -> OptionRecord:
        side = next(side for flow, side in connection.flows if flow is event.flow)
        time = self.seconds(event.time_ns)
        return OptionRecord(time, numbers[event.flow.number], side ^ event.direction, event.kind, event.about)

    def _fallback(self, connection: MptcpConnection) -> tuple[str | None, int | None]:
        """Return why a connection is plain TCP, and since when if it was MPTCP before; None if it is MPTCP."""
        if connection.infinite_ns is not None:
            return "an infinite mapping was sent, after which data is not mapped any more", connection.infinite_ns
        first = next((flow for flow, _ in connection.flows if flow.is_capable), None)
        reason = self._refusal(first) if first is not None and not first.has_dss else None
        if reason is not None:
            return reason, None
        established = [flow for flow, _ in connection.flows if self._state(flow) not in _NEVER_ESTABLISHED]
        # Beside another subflow, one without options is reset, and the connection goes on.
        plain = established[0].plain if len(established) == 1 else None
        if plain is None or not plain.is_answered or not plain.is_unmapped:
            return None, None
        return f"data without DSS from {self.seconds(plain.since_ns):.3f} s on", plain.since_ns

    def _refusal(self, first: TcpFlow) -> str | None:
        """Return why MPTCP was never used on the first subflow, on which no DSS was seen."""
        if first.halves[1].has_syn and not first.answered:
            return self._unanswered_reason(first) or (
                f"the SYN has MP_CAPABLE, but the SYN/ACK does not{self._stripping_remark(first, (1, 0))}"
            )
        stripped = self._stripping_remark(first, (0, 1))
        if stripped:
            return f"MP_CAPABLE was removed on the path{stripped}"
        if any(half.unmapped for half in first.halves):
            return "data followed the handshake without a DSS option"
        return None

    def _unanswered_reason(self, flow: TcpFlow) -> str | None:
        """Return the reason if the SYN that was answered, as the place nearest to its sender saw it, did not ask."""
        views = flow.halves[0].views
        asking = max(views, key=lambda vantage: views[vantage].with_option, default=None)
        answer = flow.halves[1].views.get(asking) if asking is not None else None
        if asking is None or answer is None or answer.answers_asking is not False or not views[asking].with_option:
            return None
        dropped = next(
            (vantage for vantage, view in views.items() if view.without_option and not view.with_option), None
        )
        cause = (
            "so the path or the server may drop packets with MPTCP options"
            if dropped is None
            else f"and only this is in {self._files[dropped.file]}: the others were dropped on the path"
        )
        number = views[asking].with_option
        return (
            f"{_syns(number)} with MP_CAPABLE {_was_or_were(number)} not answered; the SYN that was answered "
            f"has none, {cause}"
        )

    def _stripping_remark(self, flow: TcpFlow, directions: tuple[int, int]) -> str:
        """Return a remark if one vantage point saw an option in a SYN and another did not: it was removed between."""
        for direction in directions:
            views = flow.halves[direction].views.items()
            kept = [vantage for vantage, view in views if view.with_option and not view.without_option]
            lost = [vantage for vantage, view in views if view.without_option and not view.with_option]
            if kept and lost:
                packet = ("SYN", "SYN/ACK")[direction]
                return f" (the {packet} has it in {self._files[kept[0].file]}, not in {self._files[lost[0].file]})"
        return ""

    def _notes(self, connection: MptcpConnection, fell_back: bool) -> list[str]:
        notes = []
        if connection.is_earlier or connection.is_nameless:
            notes.append(_origin(connection))
        first_flows = [flow for flow, _ in connection.flows if flow.is_capable]
        notes += [_silence(flow) for flow in first_flows if self._state(flow) == "no answer"]
        if connection.failed:
            notes.append("MP_FAIL was sent: a checksum error")
        unmapped = sum(
            # Payload of a subflow that was never assigned has not even been compared with mappings.
            half.fresh if flow.recognised_by is None else half.unmapped
            for flow, _ in connection.flows
            for half in flow.halves
        )
        if unmapped and not fell_back:
            notes.append(f"no mapping was seen for {unmapped} bytes of payload")
        if any(_has_super_packets(half) for flow, _ in connection.flows for half in flow.halves):
            notes.append(
                "captured before segmentation: a packet may be several on the wire, so their number is too low"
            )
        return notes

    def _state(self, flow: TcpFlow) -> str:
        """Return how far the handshake got, if it was not completed; else how the subflow ended."""
        answers = flow.halves[1]
        if flow.initiated and not answers.packets_seen and not answers.is_acknowledged:
            files = {vantage.file for vantage in flow.halves[0].views}
            return "unknown" if files <= self._one_way_files else "no answer"
        if flow.is_join and flow.initiated and answers.packets_seen and not flow.answered and not flow.has_dss:
            return "refused"
        if flow.initiated and not answers.has_syn and answers.reset:
            return "refused"
        return flow.ended


def _one_way_files(flows: Sequence[TcpFlow]) -> set[int]:
    """Return the files that have only one direction: the other one is known from acknowledgments alone."""
    one_way, both_ways = set[int](), set[int]()
    for flow in flows:
        first, second = ({vantage.file for vantage in half.views} for half in flow.halves)
        both_ways |= first & second
        one_way |= (first | second) if flow.is_one_way else set()
    return one_way - both_ways


def _gaps(members: Sequence[tuple[TcpFlow, int]]) -> Iterator[str]:
    """Yield what of a connection is not in the capture, and why as far as it is known."""
    one_way = [number for number, (flow, _) in enumerate(members, start=1) if flow.is_one_way]
    if one_way:
        sides = {side ^ (not flow.halves[0].packets_seen) for flow, side in members if flow.is_one_way}
        which = f"subflow{'s' * (len(one_way) > 1)} {', '.join(map(str, one_way))}"
        side = f", from side {sides.pop()}" if len(sides) == 1 else ""
        yield f"only one direction of {which} was captured{side}: what the other side sent cannot be seen"
    halves = [half for flow, _ in members for half in flow.halves]
    cut = sum(half.cut_packets for half in halves)
    if cut:
        packets = f"{cut} packet{'s' * (cut > 1)}"
        yield f"the capture has only a part of the TCP options of {packets}: keep more of each (tcpdump -s 160)"
    unseen = sum(half.unseen for half in halves)
    if unseen:
        yield f"{unseen} acknowledged bytes are not in the capture"


def _syns(number: int) -> str:
    return f"{number} SYN{'' if number == 1 else 's'}"


def _was_or_were(number: int) -> str:
    return "was" if number == 1 else "were"


def _silence(flow: TcpFlow) -> str:
    """Return how many SYNs of a first subflow were not answered at all, as the place saw them that saw most."""
    view = max(flow.halves[0].views.values(), key=lambda view: view.with_option + view.without_option)
    with_it, without = view.with_option, view.without_option
    others = f", nor {_was_or_were(without)} {without} without" if without else ""
    return f"{_syns(with_it)} with MP_CAPABLE {_was_or_were(with_it)} not answered{others}"


def _origin(connection: MptcpConnection) -> str:
    """Return how the subflows of a connection were found whose beginning is not in the capture."""
    began = "it began before the capture"
    if connection.is_nameless:
        nameless = "none of its MPTCP options names it: its other subflows, if any, are listed as other connections"
        return f"{began}, and {nameless}" if connection.is_earlier else nameless
    marks = {"token" if flow.join_token is not None else flow.recognised_by for flow, _ in connection.flows}
    if marks == {"numbers"} and len(connection.flows) == 1:
        return began
    by = {"numbers": "their data sequence numbers", "token": "the token of their MP_JOIN"}
    return f"{began}: its subflows were found by {' and '.join(text for mark, text in by.items() if mark in marks)}"


def _direction_from(flow: TcpFlow, side: int, sender: int) -> HalfConnection:
    """Return the direction of ``flow`` in which side ``sender`` sends; ``side`` sends in direction 0."""
    return flow.halves[sender ^ side]


def _hex(token: int | None) -> str | None:
    return None if token is None else f"{token:08x}"


def _is_acked(connection: MptcpConnection, side: int) -> bool | None:
    """Return whether all data that ``side`` sent was acknowledged; None if no acknowledgment was seen."""
    space = connection.spaces[side]
    return None if space.acked is None else space.acked >= space.last


def _has_super_packets(half: HalfConnection) -> bool:
    largest = max((view.largest for view in half.views.values()), default=0)
    return largest >= _SUPER_PACKET * (half.mss or 1460)
