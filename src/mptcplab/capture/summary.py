# SPDX-License-Identifier: MIT
"""What an analysis found, as plain data: for tables, for figures and for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mptcplab.capture.analysis import Analysis
from mptcplab.capture.connection import Connection, Event
from mptcplab.capture.tcp import Flow, HalfConnection

_SECOND = 1e9
#: A packet that carries more than one segment: the capture was taken on a host whose card, or driver, splits it.
_SUPER_PACKET = 2


@dataclass(frozen=True)
class Direction:
    """One direction of a subflow or TCP connection.

    ``payload_bytes`` counts every byte once, ``sent_bytes`` every time it was sent, as seen in ``seen_in``; the
    difference is ``retransmitted_bytes``, unless several vantage points saw different packets. ``unseen_bytes`` were
    acknowledged, but are not in the capture. ``reinjected_bytes`` carry data that was sent before, here or elsewhere,
    under another subflow sequence number. ``share`` is this subflow's part of the payload of all in this direction.
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
class Subflow:
    """``ends``, ``address_ids`` and ``backup`` are by side of the connection; times in seconds from the first packet.

    ``began`` is ``capable``, ``join`` or ``before`` the capture; ``initiator`` the side that sent the SYN; ``state``
    how far its handshake came and how it ended. ``directions`` are side 0 to 1, and 1 to 0.
    """

    number: int
    ends: tuple[str, str]
    began: str
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
    """An option or signal: when, on which subflow, from which side, and its values."""

    time_s: float
    subflow: int
    side: int
    kind: str
    about: dict[str, Any]


@dataclass(frozen=True)
class ConnectionSummary:
    """One MPTCP connection, or one that asked to be. Tokens and data are by side: side 0 opened it.

    ``data_bytes`` were sent by each side, every byte counted once; ``fallback`` says why the connection is plain TCP.
    """

    number: int
    version: int | None
    tokens: tuple[str | None, str | None]
    start_s: float
    end_s: float
    checksum: bool
    fallback: str | None
    data_bytes: tuple[int, int]
    reinjected_bytes: tuple[int, int]
    data_acked: tuple[bool | None, bool | None]
    subflows: tuple[Subflow, ...]
    events: tuple[OptionRecord, ...]
    events_left_out: int
    notes: tuple[str, ...]


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
    """A whole capture. What is ``only_counted`` was too much to be told apart."""

    files: tuple[str, ...]
    tcp_packets: int
    start_ns: int | None
    duration_s: float | None
    connections: tuple[ConnectionSummary, ...]
    tcp: tuple[TcpSummary, ...]
    connections_only_counted: int
    tcp_only_counted: int
    tcp_payload_bytes: int

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def summarise(analysis: Analysis, files: Sequence[str]) -> Summary:
    """Everything that ``analysis`` has found; ``files`` are the names of the files by their numbers."""
    teller = _Summarizer(files, analysis.start_ns or 0)
    lost = analysis.lost_joins
    joined = {flow.number for flows in lost.values() for flow in flows}
    connections = [teller.connection(connection) for connection in analysis.connections.values()]
    number = len(connections) + analysis.forgotten_connections.count
    for count, (token, flows) in enumerate(lost.items(), start=1):
        connections.append(teller.connection(_of_joins(number + count, token, flows)))
    plain = [teller.tcp(flow) for flow in analysis.plain.values() if flow.number not in joined]
    forgotten = analysis.forgotten_plain
    return Summary(
        files=tuple(files),
        tcp_packets=analysis.packets,
        start_ns=analysis.start_ns,
        duration_s=teller.seconds(analysis.end_ns) if analysis.packets else None,
        connections=tuple(connections),
        tcp=tuple(plain),
        connections_only_counted=analysis.forgotten_connections.count,
        tcp_only_counted=forgotten.count,
        tcp_payload_bytes=forgotten.payload + sum(way.payload_bytes for one in plain for way in one.directions),
    )


def _of_joins(number: int, token: int, flows: list[Flow]) -> Connection:
    """What is known of a connection of which only refused or empty subflows were seen."""
    connection = Connection(number, inferred=True)
    connection.tokens[1] = token
    connection.flows = [(flow, 0) for flow in flows]
    return connection


class _Summarizer:
    """Turns what was counted into summaries."""

    def __init__(self, files: Sequence[str], start_ns: int) -> None:
        self._files, self._start_ns = files, start_ns

    def seconds(self, time_ns: int) -> float:
        """Seconds from the first packet."""
        return (time_ns - self._start_ns) / _SECOND

    def connection(self, connection: Connection) -> ConnectionSummary:
        """One connection with its subflows in the order of their beginnings."""
        members = sorted(connection.flows, key=lambda member: (member[0].start_ns, member[0].number))
        numbers = {flow.number: number for number, (flow, _) in enumerate(members, start=1)}
        fallback = self._fallback(connection)
        spaces = connection.spaces
        totals = tuple(sum(_half(flow, side, way).fresh for flow, side in members) for way in (0, 1))
        data = (spaces[0].total, spaces[1].total) if not fallback else (totals[0], totals[1])
        reinjected = tuple(sum(space.reinjected.values()) for space in spaces)
        return ConnectionSummary(
            number=connection.number,
            version=connection.version,
            tokens=(_hex(connection.tokens[0]), _hex(connection.tokens[1])),
            start_s=self.seconds(min(flow.start_ns for flow, _ in members)),
            end_s=self.seconds(max(flow.end_ns for flow, _ in members)),
            checksum=connection.checksum_asked or any(flow.has_checksum for flow, _ in members),
            fallback=fallback,
            data_bytes=data,
            reinjected_bytes=(reinjected[0], reinjected[1]),
            data_acked=(_is_acked(connection, 0), _is_acked(connection, 1)),
            subflows=tuple(
                self._subflow(connection, flow, side, numbers[flow.number], (totals[0], totals[1]))
                for flow, side in members
            ),
            events=tuple(self._said(event, connection, numbers) for event in connection.events),
            events_left_out=connection.more_events,
            notes=tuple(self._notes(connection, bool(fallback))),
        )

    def _subflow(self, connection: Connection, flow: Flow, side: int, number: int, totals: tuple[int, int]) -> Subflow:
        began = "join" if flow.is_join else "capable" if flow.is_capable else "before"
        ids = flow.address_ids if flow.is_join or not flow.is_capable else [0, 0]
        directions = []
        for way in (0, 1):
            again = connection.spaces[way].reinjected.get(flow.number, 0)
            directions.append(self._direction(_half(flow, side, way), totals[way], again))
        return Subflow(
            number=number,
            ends=(str(flow.ends[side]), str(flow.ends[1 - side])),
            began=began,
            initiator=side if flow.initiated else None,
            address_ids=(ids[side], ids[1 - side]),
            backup=(flow.backup[side], flow.backup[1 - side]),
            start_s=self.seconds(flow.start_ns),
            end_s=self.seconds(flow.end_ns),
            state=_state(flow),
            has_super_packets=any(_has_super_packets(half) for half in flow.halves),
            directions=(directions[0], directions[1]),
        )

    def tcp(self, flow: Flow) -> TcpSummary:
        """A TCP connection without MPTCP."""
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

    def _said(self, event: Event, connection: Connection, numbers: dict[int, int]) -> OptionRecord:
        side = next(side for flow, side in connection.flows if flow is event.flow)
        time = self.seconds(event.time_ns)
        return OptionRecord(time, numbers[event.flow.number], side ^ event.direction, event.kind, event.about)

    def _fallback(self, connection: Connection) -> str | None:
        first = next((flow for flow, _ in connection.flows if flow.is_capable), None)
        if connection.infinite:
            return "an infinite mapping: the data sequence follows the first subflow from there on"
        if first is None or first.has_dss:
            return None
        has_answer = first.halves[1].has_syn
        if has_answer and not first.answered:
            return f"MP_CAPABLE was asked for, and the SYN/ACK has none{self._stripped(first, (1, 0))}"
        stripped = self._stripped(first, (0, 1))
        if stripped:
            return f"MP_CAPABLE was lost{stripped}"
        if any(half.unmapped for half in first.halves):
            return "data came without DSS after the handshake"
        return None

    def _stripped(self, flow: Flow, directions: tuple[int, int]) -> str:
        """Whether one vantage point saw an option in a SYN and another did not: somebody between removed it."""
        for direction in directions:
            views = flow.halves[direction].views.items()
            kept = [vantage for vantage, view in views if view.with_option and not view.without_option]
            lost = [vantage for vantage, view in views if view.without_option and not view.with_option]
            if kept and lost:
                what = ("SYN", "SYN/ACK")[direction]
                return f" (the {what} has it in {self._files[kept[0].file]}, not in {self._files[lost[0].file]})"
        return ""

    def _notes(self, connection: Connection, fell_back: bool) -> list[str]:
        notes = []
        if connection.inferred:
            notes.append("begins before the capture: subflows are joined by their data sequence numbers")
        if connection.failed:
            notes.append("MP_FAIL was sent: a checksum was wrong")
        unmapped = sum(half.unmapped for flow, _ in connection.flows for half in flow.halves)
        if unmapped and not fell_back:
            notes.append(f"{unmapped} bytes of payload have no mapping that was seen")
        unseen = sum(half.unseen for flow, _ in connection.flows for half in flow.halves)
        if unseen:
            notes.append(f"{unseen} bytes were acknowledged that are not in the capture")
        if any(_has_super_packets(half) for flow, _ in connection.flows for half in flow.halves):
            notes.append("captured before segmentation: a packet may be many on the wire, so packets are too few")
        return notes


def _half(flow: Flow, side: int, way: int) -> HalfConnection:
    """What side ``way`` sends on ``flow``, whose direction 0 is sent by ``side``."""
    return flow.halves[way ^ side]


def _hex(token: int | None) -> str | None:
    return None if token is None else f"{token:08x}"


def _is_acked(connection: Connection, side: int) -> bool | None:
    """Whether all data that ``side`` sent has been acknowledged; None when no acknowledgment was seen."""
    space = connection.spaces[side]
    return None if space.acked is None else space.acked >= space.last


def _has_super_packets(half: HalfConnection) -> bool:
    largest = max((view.largest for view in half.views.values()), default=0)
    return largest >= _SUPER_PACKET * (half.mss or 1460)


def _state(flow: Flow) -> str:
    """How far the handshake came, if not to its end; else how it ended."""
    if flow.initiated and not flow.halves[1].has_syn and not flow.halves[1].packets_seen:
        return "no answer"
    if flow.is_join and flow.initiated and not flow.answered and not flow.has_dss:
        return "refused"
    return flow.ended
