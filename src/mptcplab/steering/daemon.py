# SPDX-License-Identifier: MIT
"""The daemon on the server: decides when all agents have reported, once per period, and sends MP_PRIO.

Each connection has one active subflow, at first its first one; the daemon makes all others backups as soon as they are
there. A move makes the subflow over the new access point active, and then the old one a backup, so that a connection
always has an active subflow. The next decision reports where the terminal's bytes went.

The connections must have been opened with ``net.mptcp.pm_type = 1``. State is read from the kernel at each
decision, so that a lost event, or a restart of the daemon, changes nothing. Standard output has a JSON object per line.
"""

from __future__ import annotations

import errno
import json
import select
import sys
import time
from _socket import AF_INET, AF_INET6, SOCK_CLOEXEC, SOCK_DGRAM, socket  # `socket` around it loads slowly

from mptcplab.guest.mptcp_pm import Kernel
from mptcplab.steering.connections import Connections
from mptcplab.steering.counters import Counters
from mptcplab.steering.policy import Move, State
from mptcplab.steering.registry import policy_of
from mptcplab.steering.reports import MAX_BYTES, ReportError, unsealed
from mptcplab.steering.terminals import peers_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mptcplab.steering.connections import Connection, Subflow
    from mptcplab.steering.counters import Period
    from mptcplab.steering.terminals import Peer

_NS = 1_000_000_000
#: An access point that has not reported for so many periods is left out.
_PATIENCE = 3
_BEHIND = errno.ENOBUFS


class Daemon:
    """One server. ``config`` has the keys of docs/steering.md."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._policy, self._floor_dbm = policy_of(config), float(config["floor_dbm"])
        self._period_ns = round(_NS * float(config["period_s"]))
        self._key = bytes.fromhex(config["key"])
        self._counters = Counters(_PATIENCE * self._period_ns)
        self._kernel, self._connections = Kernel(), Connections()
        address, port = config["listen"]
        self._reports = socket(AF_INET6 if ":" in address else AF_INET, SOCK_DGRAM | SOCK_CLOEXEC)
        self._reports.bind((address, port))
        #: Terminals that were moved, with their new access point, until the next decision.
        self._moved: dict[str, str] = {}
        self._refused = 0

    def run(self) -> None:
        """Steer until killed."""
        poll = select.poll()
        for source in (self._kernel.notices, self._reports):
            poll.register(source.fileno(), select.POLLIN)
        _log("ready")
        self._settle()
        decided_ns = time.monotonic_ns()
        while True:
            wait_ns = decided_ns + 2 * self._period_ns - time.monotonic_ns()
            ready = {descriptor for descriptor, _ in poll.poll(max(0, wait_ns) / 1e6 + 0.001)}
            if self._reports.fileno() in ready:
                self._take_report()
            if self._kernel.notices.fileno() in ready:
                self._take_events()
            now_ns = time.monotonic_ns()
            # A decision waits for the reports of one round, so that all counters are of one period of their agents.
            since_ns = now_ns - decided_ns
            complete = since_ns >= self._period_ns // 2 and self._counters.is_complete(now_ns)
            if complete or since_ns >= 2 * self._period_ns:
                self._decide(now_ns)
                decided_ns = now_ns

    def _take_report(self) -> None:
        datagram, sender = self._reports.recvfrom(MAX_BYTES)
        try:
            report = unsealed(self._key, datagram)
        except ReportError as error:
            # Anybody may send a datagram: only the first of a flood is worth a line.
            self._refused += 1
            if self._refused.bit_count() == 1:
                _log("refused", sender=sender[0], why=str(error), count=self._refused)
            return
        self._counters.take(report, time.monotonic_ns())

    def _take_events(self) -> None:
        try:
            changed = any(event.name.startswith("subflow") for event in self._kernel.events())
        except OSError as error:
            if error.errno != _BEHIND:
                raise
            _log("overrun")
            changed = True
        if changed:
            self._settle()

    def _settle(self) -> None:
        """Leave each connection one active subflow: the first that is none of the backups, else the first of all."""
        for connection in self._connections.read():
            keep = (connection.active or connection.subflows)[0]
            if keep.is_backup:
                self._prefer(connection, keep, backup=False)
            for subflow in connection.active:
                if subflow is not keep:
                    self._prefer(connection, subflow, backup=True)

    def _decide(self, now_ns: int) -> None:
        periods = self._counters.periods(now_ns)
        peers = peers_of(self._connections.read(), periods)
        self._report_moved(peers, periods)
        terminals = [terminal for peer in peers if (terminal := peer.terminal()) is not None]
        state = State(now_ns, {name: one.received for name, one in periods.items()}, terminals)
        moves = self._policy.decide(state) if terminals else []
        places = {one.name: one.active for one in terminals}
        silent = self._counters.silent(now_ns)
        _log("decision", received=state.received, terminals=places, silent=silent, moves=len(moves))
        by_name = {peer.name: peer for peer in peers}
        for move in moves:
            self._carry_out(move, by_name[move.terminal])

    def _carry_out(self, move: Move, peer: Peer) -> None:
        """Move a terminal with all its connections, unless its signal there is too weak."""
        terminal = peer.terminal()
        if terminal is None or not terminal.hears(move.to, self._floor_dbm):
            _log("kept", terminal=move.terminal, to=move.to)
            return
        errors = [self._switch(connection, peer.address_at[move.to]) for connection in peer.connections]
        self._moved[move.terminal] = move.to
        rssi = terminal.rssi_dbm[move.to]
        _log("switch", terminal=move.terminal, source=terminal.active, to=move.to, rssi_dbm=rssi, errors=errors)

    def _switch(self, connection: Connection, address: str) -> int:
        """Make the subflow to an address of the terminal the only active one; return 0 or the number of the error."""
        new = connection.over((address,))
        if new is None:
            return errno.ENOENT
        error = self._prefer(connection, new, backup=False)
        if not error:
            for old in connection.active:
                if old is not new:
                    error = error or self._prefer(connection, old, backup=True)
        return error

    def _prefer(self, connection: Connection, subflow: Subflow, *, backup: bool) -> int:
        """Send MP_PRIO. A subflow that has just ended is no reason to stop."""
        error = self._kernel.prefer(connection.token, subflow.local, subflow.remote, backup=backup)
        _log("priority", token=connection.token, remote=subflow.remote[0], backup=backup, error=error)
        return error

    def _report_moved(self, peers: list[Peer], periods: dict[str, Period]) -> None:
        """Report the part of a moved terminal's bytes that went over its new access point since then."""
        for peer in peers:
            to = self._moved.pop(peer.name, None)
            if to is None or to not in peer.address_at:
                continue
            sent = {name: periods[name].sent_to[address] for name, address in peer.address_at.items()}
            share = sent[to] / sum(sent.values()) if sum(sent.values()) else None
            _log("moved", terminal=peer.name, to=to, share=share)
        self._moved.clear()


def _log(event: str, **described: Any) -> None:
    print(json.dumps({"t_ns": time.monotonic_ns(), "event": event, **described}, separators=(",", ":")), flush=True)


def main(config: str) -> None:
    """Steer as a configuration in JSON says."""
    try:
        Daemon(json.loads(config)).run()
    except OSError as error:
        sys.exit(f"steering: {error}")
