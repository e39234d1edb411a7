# SPDX-License-Identifier: MIT
"""Assign packets to connections: find the subflows of each MPTCP connection and the options sent on them.

A connection begins with MP_CAPABLE, whose keys give its tokens; MP_JOIN names it by the receiver's token. In a capture
that begins later, subflows are taken to belong together if their 64-bit data sequence numbers are within 2^31 of each
other, which happens by chance once in four billion pairs. A subflow whose options name no connection (an ADD_ADDR, a
data ACK of 32 bits) is MPTCP all the same: it counts as a connection of its own.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from mptcplab.capture import options as mp
from mptcplab.capture.connection import MptcpConnection
from mptcplab.capture.packet import ACK, SYN, CopyFilter, Packet, SocketAddress
from mptcplab.capture.tcp import Recognition, SubflowEvent, TcpFlow

#: TCP and MPTCP connections that are tracked. Beyond these, old ones are only counted.
_MAX_FLOWS = 50_000
_MAX_CONNECTIONS = 5_000
#: Connections, the newest ones, whose data sequence numbers are compared with a subflow's without MP_JOIN.
_COMPARED = 500
#: The oldest connections; one of these that has ended is evicted first.
_EVICTION_CANDIDATES = 100
#: Events that are kept of a subflow until its connection is known.
_EARLY_EVENTS = 20
_KINDS: dict[type, str] = {
    mp.AddAddress: "ADD_ADDR",
    mp.RemoveAddress: "REMOVE_ADDR",
    mp.Priority: "MP_PRIO",
    mp.Fail: "MP_FAIL",
    mp.FastClose: "MP_FASTCLOSE",
    mp.Reset: "MP_TCPRST",
}


@dataclass
class UntrackedCount:
    """The number of connections that are no longer tracked, and their payload in bytes."""

    count: int = 0
    payload: int = 0

    def add(self, flows: list[TcpFlow]) -> None:
        """Count one more, which consists of these TCP connections."""
        self.count += 1
        self.payload += sum(half.fresh for flow in flows for half in flow.halves)


class Analysis:
    """The analysis of one capture: add packets in the order of their times, then read ``connections`` and ``plain``."""

    def __init__(self) -> None:
        self.packets = 0
        self.copies = 0
        self.start_ns: int | None = None
        self.end_ns = 0
        self.connections: dict[int, MptcpConnection] = {}
        self.plain: dict[int, TcpFlow] = {}
        self.forgotten_plain = UntrackedCount()
        self.forgotten_connections = UntrackedCount()
        self._flows: dict[tuple[SocketAddress, SocketAddress], tuple[TcpFlow, int]] = {}
        self._members: dict[int, tuple[MptcpConnection, int]] = {}
        self._tokens: dict[int, tuple[MptcpConnection, int]] = {}
        self._waiting: dict[int, list[TcpFlow]] = {}
        self._first_seen: dict[tuple[object, ...], object] = {}
        self._count = 0
        self._copies = CopyFilter()

    def add(self, packet: Packet) -> None:
        """Analyse one packet."""
        self.packets += 1
        if self.start_ns is None or packet.time_ns < self.start_ns:
            self.start_ns = packet.time_ns
        self.end_ns = max(self.end_ns, packet.time_ns)
        if self._copies.is_copy(packet):
            self.copies += 1
            return
        new_flow = self._flows.get((packet.source, packet.target))
        if new_flow is None or new_flow[0].is_followed_by(packet, new_flow[1]):
            new_flow = self._new_flow(packet)
        flow, direction = new_flow
        position, fresh = flow.add(packet, direction)
        was_member = flow.number in self._members
        has_option = False
        for option in mp.mptcp_options(packet.options, is_cut=packet.is_cut):
            has_option = True
            self._take(option, packet, flow, direction, position)
        has_option = has_option or mp.has_mptcp(packet.options)
        flow.has_mptcp = flow.has_mptcp or has_option
        if packet.flags & SYN:
            flow.count_syn_option(packet, direction, has_option=has_option)
        member = self._members.get(flow.number)
        if member is None:
            return
        connection, side = member
        half = flow.halves[direction]
        unmapped = half.unmapped
        if fresh and was_member:  # else _join has added all payload so far
            connection.add_data(flow, direction, side ^ direction, fresh, packet.time_ns)
        if has_option:
            flow.note_option(packet, direction, position)
        else:
            flow.note_plain(packet, direction, position, is_unmapped=half.unmapped > unmapped)

    def _new_flow(self, packet: Packet) -> tuple[TcpFlow, int]:
        self._count += 1
        is_answer = packet.flags & (SYN | ACK) == SYN | ACK
        ends = (packet.target, packet.source) if is_answer else (packet.source, packet.target)
        flow = TcpFlow(self._count, ends, packet.time_ns, packet.time_ns, initiated=bool(packet.flags & SYN))
        self._flows[ends[0], ends[1]] = flow, 0
        self._flows[ends[1], ends[0]] = flow, 1
        self.plain[flow.number] = flow
        if len(self.plain) > _MAX_FLOWS:
            self._forget_plain()
        return flow, int(is_answer)

    def _forget_plain(self) -> None:
        """Stop tracking one of the oldest connections, preferably a closed one."""
        oldest = list(itertools.islice(self.plain.values(), _EVICTION_CANDIDATES))
        gone = next((flow for flow in oldest if flow.ended != "open"), oldest[0])
        del self.plain[gone.number]
        (self.forgotten_connections if gone.has_mptcp else self.forgotten_plain).add([gone])
        self._drop(gone)

    def _drop(self, flow: TcpFlow) -> None:
        for key in (flow.ends, flow.ends[::-1]):
            current = self._flows.get((key[0], key[1]))
            if current is not None and current[0] is flow:
                del self._flows[key[0], key[1]]
        self._members.pop(flow.number, None)
        if flow.join_token in self._waiting:
            waiting = [other for other in self._waiting.pop(flow.join_token) if other is not flow]
            if waiting:
                self._waiting[flow.join_token] = waiting

    def _take(self, option: mp.Option, packet: Packet, flow: TcpFlow, direction: int, position: int) -> None:
        if isinstance(option, mp.Dss):
            self._take_dss(option, packet, flow, direction, position)
        elif isinstance(option, mp.Capable):
            self._take_capable(option, packet, flow, direction)
        elif isinstance(option, mp.Join):
            self._take_join(option, packet, flow, direction)
        else:
            self._take_signal(option, packet, flow, direction)

    # -- begin of connections and subflows

    def _take_capable(self, option: mp.Capable, packet: Packet, flow: TcpFlow, direction: int) -> None:
        flow.is_capable = True
        connection, first_side = self._members.get(flow.number) or self._new_connection(flow, "keys")
        is_syn, is_ack = packet.flags & SYN, packet.flags & ACK
        if not is_syn and option.receiver_key is not None and not flow.initiated:
            # Only the side that opened the connection sends both keys.
            flow.initiated, first_side = True, direction
            self._join(flow, connection, first_side, "keys")
        side = first_side ^ direction
        connection.version = option.version if connection.version is None or is_ack else connection.version
        connection.checksum_asked = connection.checksum_asked or option.checksum
        # In packets out of order, data may come before the SYN.
        connection.is_earlier = connection.is_earlier and not is_syn
        flow.answered = flow.answered or bool(is_ack)
        flow.confirmed = flow.confirmed or bool(is_ack and not is_syn)
        for owner, key in ((side, option.sender_key), (1 - side, option.receiver_key)):
            if key is not None and connection.keys[owner] is None:
                self._learn_token(connection, owner, connection.learn_key(owner, key, option.version))
        connection.map_first_data(flow, direction, side, option)

    def _learn_token(self, connection: MptcpConnection, side: int, token: int) -> None:
        self._tokens[token] = connection, side
        connection.tokens[side] = token
        for flow in self._waiting.pop(token, []):
            if flow.number not in self._members:
                self._join(flow, connection, 1 - side, "token")

    def _new_connection(self, flow: TcpFlow, by: Recognition) -> tuple[MptcpConnection, int]:
        number = len(self.connections) + self.forgotten_connections.count + 1
        connection = self.connections[number] = MptcpConnection(number)
        self._join(flow, connection, 0, by)
        if len(self.connections) > _MAX_CONNECTIONS:
            self._forget_connection()
        return connection, 0

    def _forget_connection(self) -> None:
        """Stop tracking one of the oldest connections, preferably a closed one."""
        oldest = list(itertools.islice(self.connections.values(), _EVICTION_CANDIDATES))
        gone = next((connection for connection in oldest if connection.ended), oldest[0])
        del self.connections[gone.number]
        self.forgotten_connections.add([flow for flow, _ in gone.flows])
        for flow, _ in gone.flows:
            self._drop(flow)
        for token in gone.tokens:
            if token is not None and self._tokens.get(token, (None, 0))[0] is gone:
                del self._tokens[token]

    def _join(self, flow: TcpFlow, connection: MptcpConnection, first_side: int, by: Recognition) -> None:
        """Make ``flow`` a subflow of ``connection``; ``first_side`` sends in its direction 0."""
        if flow.number not in self._members:
            for direction, half in enumerate(flow.halves):
                earlier = list(half.seen or ())
                connection.add_data(flow, direction, first_side ^ direction, earlier, flow.end_ns)
            flow.recognised_by = by
            for event in flow.events:
                connection.note(event)
            flow.events = []
        connection.flows = [member for member in connection.flows if member[0] is not flow]
        connection.flows.append((flow, first_side))
        self._members[flow.number] = connection, first_side
        self.plain.pop(flow.number, None)

    def _take_join(self, option: mp.Join, packet: Packet, flow: TcpFlow, direction: int) -> None:
        flow.is_join = True
        if option.is_third:
            flow.confirmed = True
            return
        flow.address_ids[direction], flow.backup[direction] = option.address_id, option.backup
        if option.token is None:
            flow.answered = flow.answered or bool(packet.flags & ACK)
            return
        flow.join_token = option.token
        if flow.number in self._members:
            return
        known = self._tokens.get(option.token)
        if known is not None:
            connection, owner = known
            self._join(flow, connection, (1 - owner) ^ direction, "token")
        else:
            self._waiting.setdefault(option.token, []).append(flow)

    # -- data

    def _take_dss(self, dss: mp.Dss, packet: Packet, flow: TcpFlow, direction: int, position: int) -> None:
        flow.has_dss = True
        flow.has_checksum = flow.has_checksum or dss.has_checksum
        member = self._members.get(flow.number) or self._fitting_connection(dss, flow, direction)
        if member is None:
            return
        connection, first_side = member
        side = first_side ^ direction
        connection.map_data(flow, direction, side, dss, (position, position + packet.length))
        if dss.ack is not None:
            space = connection.spaces[1 - side]
            acked = space.position(dss.ack, dss.ack_bits)
            space.acked = acked if space.acked is None else max(space.acked, acked)
        space = connection.spaces[side]
        if dss.fin and dss.sequence is not None and space.fin is None:
            space.fin = space.position(dss.sequence, dss.sequence_bits) + dss.length - 1
            # In a capture that begins later, the amount of earlier data is unknown.
            total = None if connection.keys[side] is None else space.fin
            self._note(packet, connection, flow, direction, "DATA_FIN", {"data_bytes": total})

    def _fitting_connection(self, dss: mp.Dss, flow: TcpFlow, direction: int) -> tuple[MptcpConnection, int] | None:
        """Return the connection that the numbers fit, or a new one; None if there are too few numbers to decide."""
        has_both = dss.sequence is not None and dss.ack is not None
        if not has_both and 64 not in (dss.sequence_bits, dss.ack_bits):
            return None
        for connection in list(self.connections.values())[-_COMPARED:]:
            for side in (0, 1):
                if _fits(dss, connection, side):
                    self._join(flow, connection, side ^ direction, "numbers")
                    self._learn_by_join(flow, connection, side ^ direction)
                    return connection, side ^ direction
        connection, first_side = self._new_connection(flow, "numbers")
        connection.is_earlier = True
        self._learn_by_join(flow, connection, first_side)
        return connection, first_side

    def _learn_by_join(self, flow: TcpFlow, connection: MptcpConnection, first_side: int) -> None:
        if flow.join_token is not None:
            self._learn_token(connection, 1 - first_side, flow.join_token)

    # -- other options

    def _take_signal(self, option: mp.Option, packet: Packet, flow: TcpFlow, direction: int) -> None:
        member = self._members.get(flow.number)
        about = {} if isinstance(option, mp.FastClose) else option._asdict()
        if isinstance(option, mp.Fail) and member is not None:
            member[0].failed = True
        if isinstance(option, mp.Priority) and option.address_id is None:
            flow.backup[direction] = option.backup
        self._note(packet, member[0] if member else None, flow, direction, _KINDS[type(option)], about)

    def _note(
        self,
        packet: Packet,
        connection: MptcpConnection | None,
        flow: TcpFlow,
        direction: int,
        kind: str,
        about: dict[str, object],
    ) -> None:
        """Record an option once: of a packet that passes several vantage points, at the first one."""
        key = (flow.number, direction, kind, repr(about), packet.sequence, packet.acknowledgment)
        if self._first_seen.setdefault(key, packet.vantage) == packet.vantage:
            event = SubflowEvent(packet.time_ns, flow, direction, kind, about, packet.vantage)
            if connection is not None:
                connection.note(event)
            elif len(flow.events) < _EARLY_EVENTS:
                flow.events.append(event)
        if len(self._first_seen) > _MAX_FLOWS:
            self._first_seen.clear()

    @property
    def unassigned(self) -> list[MptcpConnection]:
        """Connections of subflows with MPTCP options that fit no connection: by token, or a subflow each."""
        by_token: dict[int, MptcpConnection] = {}
        others: list[MptcpConnection] = []
        number = len(self.connections) + self.forgotten_connections.count
        for flow in self.plain.values():
            if not flow.has_mptcp:
                continue
            connection = by_token.get(flow.join_token) if flow.join_token is not None else None
            if connection is None:
                number += 1
                connection = _connection_by_token(number, flow)
                if flow.join_token is None:
                    others.append(connection)
                else:
                    by_token[flow.join_token] = connection
            connection.flows.append((flow, 0))
            for event in flow.events:
                connection.note(event)
        return sorted([*by_token.values(), *others], key=lambda connection: connection.number)


def _fits(dss: mp.Dss, connection: MptcpConnection, side: int) -> bool:
    """Return whether ``side`` of ``connection`` can have sent ``dss``."""
    sent, other = connection.spaces[side], connection.spaces[1 - side]
    is_own = dss.sequence is not None and sent.is_near(dss.sequence, dss.sequence_bits)
    is_other = dss.ack is not None and other.is_near(dss.ack, dss.ack_bits)
    if is_own and (is_other or dss.sequence_bits == sent.origin_bits == 64):
        return True
    # A subflow that only acknowledges. If there is a sequence number to compare, it decides.
    has_own = dss.sequence is not None and sent.origin is not None
    return is_other and not has_own and dss.ack_bits == other.origin_bits == 64


def _connection_by_token(number: int, flow: TcpFlow) -> MptcpConnection:
    """Return the connection of a subflow that fits none: known by the token of its MP_JOIN, if it has one."""
    is_earlier = flow.is_join or not any(half.has_syn for half in flow.halves)
    connection = MptcpConnection(number, is_earlier=is_earlier, is_nameless=flow.join_token is None)
    connection.tokens[1] = flow.join_token
    return connection
