# SPDX-License-Identifier: MIT
"""The decisions: leaves each connection one active subflow, asks the policy, moves terminals, checks the effect.

Each decision begins with the sockets that the kernel has now. What is kept between decisions is lost by a restart
without harm: which of several active subflows was kept, checks of moves, packet counters, blocked pairs.
"""

from __future__ import annotations

from mptcplab.steering.connections import carry_out, changes_to
from mptcplab.steering.counters import contradicts, drop_conflicts
from mptcplab.steering.decision_log import log
from mptcplab.steering.policy import State
from mptcplab.steering.terminals import peers_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from mptcplab.guest.mptcp_pm import End
    from mptcplab.steering.configuration import DaemonConfig
    from mptcplab.steering.connections import Change, SteeredConnection, SteeredSubflow
    from mptcplab.steering.counters import Counters, Period
    from mptcplab.steering.kernel_link import KernelLink
    from mptcplab.steering.policy import Terminal
    from mptcplab.steering.terminals import Peer

    Sent = Mapping[tuple[object, ...], tuple[str, int]]

#: Bytes in a period below which a terminal's share says nothing.
_MIN_BYTES = 30_000
#: The first period has what was queued for the old subflow before the move.
_MAX_PERIODS = 2


class Steerer:
    """The terminals of this machine."""

    def __init__(self, config: DaemonConfig, kernel: KernelLink, counters: Counters) -> None:
        self._config, self._kernel, self._counters = config, kernel, counters
        #: The active subflow of each connection.
        self._kept: dict[int, tuple[End, End]] = {}
        self._checks: dict[str, Check] = {}
        #: The instant until which a terminal is not moved to an access point over which it received nothing.
        self._blocked: dict[tuple[str, str], int] = {}
        self._packets: dict[tuple[object, ...], int] = {}
        self.switches = self.decisions = 0
        self.last: dict[str, Any] = {}

    def settle(self) -> None:
        """Leave each connection one active subflow."""
        connections = self._kernel.connections()
        if connections is None:
            log("unreadable")
            return
        self._settle(connections)

    def _settle(self, connections: Iterable[SteeredConnection]) -> None:
        """Keep the subflow that was active before, if it still exists; else the first active one; else the first."""
        kept: dict[int, tuple[End, End]] = {}
        for connection in connections:
            before = self._kept.get(connection.token)
            fit = sorted(connection.active, key=lambda subflow: subflow.ends != before)
            # A subflow that has just ended cannot become active: try the next one.
            for keep in fit or sorted(connection.subflows, key=lambda subflow: subflow.is_peers_backup):
                if not self._change(connection, keep):
                    kept[connection.token] = keep.ends
                    break
        self._kept = kept

    def decide(self, now_ns: int) -> None:
        """Decide once, with the reports since the last decision."""
        periods = self._counters.periods(now_ns)
        conflicts = drop_conflicts(periods)
        connections = self._kernel.connections()
        if connections is None:
            log("unreadable")
            return
        self._settle(connections)
        doubted = self._contradicted_access_points(connections, periods)
        peers = peers_of(connections, periods)
        usable = {name: period for name, period in periods.items() if name not in doubted}
        self._check_moves(peers, now_ns)
        self._align(peers)
        terminals = {
            peer.name: terminal for peer in peers if (terminal := peer.terminal(self._blocked_of(peer, now_ns)))
        }
        received = {name: period.received for name, period in usable.items()}
        moves = self._config.policy.decide(State(now_ns, received, list(terminals.values()))) if terminals else []
        self.decisions += 1
        self.last = {
            "received": received,
            "terminals": {terminal.name: terminal.active for terminal in terminals.values()},
            "silent": self._counters.silent_access_points(now_ns),
            "doubted": doubted,
            "conflicts": sorted(conflicts),
            "moves": [[move.terminal, move.to] for move in moves],
        }
        log("decision", **self.last)
        by_name = {peer.name: peer for peer in peers}
        for move in moves:
            if move.terminal in terminals and move.to in usable:
                self._move(by_name[move.terminal], terminals[move.terminal], move.to)

    def _contradicted_access_points(
        self, connections: Iterable[SteeredConnection], periods: dict[str, Period]
    ) -> dict[str, dict[str, int]]:
        """Return the access points whose counters contradict what came over them, with both numbers."""
        packets: dict[tuple[object, ...], int] = {}
        grown: dict[str, int] = {}
        for connection in connections:
            for subflow in connection.subflows:
                key = (connection.token, *subflow.ends)
                packets[key] = subflow.received_packets
                new = subflow.received_packets - self._packets.get(key, subflow.received_packets)
                grown[subflow.remote[0]] = grown.get(subflow.remote[0], 0) + new
        self._packets = packets
        points: dict[str, dict[str, int]] = {}
        for name, period in periods.items():
            came = sum(grown.get(address, 0) for address in period.rssi_dbm)
            if contradicts(period, came):
                points[name] = {"received": period.received, "packets": came}
        return points

    def _blocked_of(self, peer: Peer, now_ns: int) -> list[str]:
        self._blocked = {pair: until for pair, until in self._blocked.items() if until > now_ns}
        return [name for terminal, name in self._blocked if terminal == peer.name]

    def _move(self, peer: Peer, terminal: Terminal, to: str, *, why: str = "policy") -> None:
        """Move a terminal with all its connections, unless its signal there is too weak: the policy may not know."""
        if not terminal.hears_one_of(to, self._config.floor_dbm):
            log("kept", terminal=peer.name, to=to, rssi_dbm=terminal.rssi_dbm.get(to))
            return
        address = peer.address_at[to]
        sent = peer.sent_bytes()
        over = [
            (steered_connection, subflow)
            for steered_connection in peer.connections
            if (subflow := steered_connection.subflow_to(address)) is not None
        ]
        errors = [self._change(connection, subflow) for connection, subflow in over]
        self.switches += 1
        log(
            "switch",
            terminal=peer.name,
            source=terminal.active,
            to=to,
            rssi_dbm=terminal.rssi_dbm[to],
            connections=len(over),
            errors=[error for error in errors if error],
            why=why,
        )
        if not all(errors):
            self._checks[peer.name] = Check(terminal.active, to, address, sent)

    def _change(self, connection: SteeredConnection, keep: SteeredSubflow) -> int:
        """Make a subflow the only active one; return 0 or the number of the first error."""

        def send(change: Change) -> int:
            subflow = change.subflow
            error = self._kernel.prefer(connection.token, subflow, backup=change.backup)
            log("priority", token=connection.token, remote=list(subflow.remote), backup=change.backup, error=error)
            return error

        error = carry_out(changes_to(connection, keep), send)
        if not keep.is_backup:
            self._kept[connection.token] = keep.ends
        return error if keep.is_backup else 0

    def _check_moves(self, peers: list[Peer], now_ns: int) -> None:
        """Log where the traffic of moved terminals went; undo moves after which no traffic went."""
        for peer in peers:
            check = self._checks.get(peer.name)
            verdict = check.verdict(peer.sent_bytes()) if check is not None else None
            if check is None or verdict is None:
                continue
            del self._checks[peer.name]
            log("moved", terminal=peer.name, to=check.to, verdict=verdict, share=check.share)
            terminal = peer.terminal()
            if verdict == "stuck" and terminal is not None:
                self._blocked[peer.name, check.to] = now_ns + self._config.block_ns
                if terminal.active == check.to and check.source in peer.address_at:
                    self._move(peer, terminal, check.source, why="stuck")
                    self._checks.pop(peer.name, None)
        self._checks = {peer.name: self._checks[peer.name] for peer in peers if peer.name in self._checks}

    def _align(self, peers: list[Peer]) -> None:
        """Let new connections of a terminal follow its existing ones."""
        for peer in peers:
            terminal = peer.terminal()
            if terminal is None or not terminal.hears_one_of(terminal.active, self._config.floor_dbm):
                continue
            for connection in peer.connections:
                subflow = connection.subflow_to(peer.address_at[terminal.active])
                if subflow is not None and peer.place_of(connection) not in (None, terminal.active):
                    error = self._change(connection, subflow)
                    log("follow", terminal=peer.name, to=terminal.active, token=connection.token, error=error)


class Check:
    """A move whose effect is not known yet. ``address`` is the terminal's at the new access point."""

    def __init__(self, source: str, to: str, address: str, sent: Sent) -> None:
        self.source, self.to, self._address, self._sent = source, to, address, sent
        self.share: float | None = None
        self._periods = 0

    def verdict(self, sent: Sent) -> str | None:
        """Return ``moved``, ``stuck`` or ``idle`` after another period; None if it takes a further one to tell.

        ``share`` then has the part of the period's bytes that went over the new access point, None if there were none.
        """
        grown = {
            key: (address, bytes_ - self._sent[key][1]) for key, (address, bytes_) in sent.items() if key in self._sent
        }
        there = sum(count for address, count in grown.values() if address == self._address)
        total = sum(count for _, count in grown.values())
        self._sent, self._periods = sent, self._periods + 1
        self.share = there / total if total > 0 else None
        if self.share is not None and total >= _MIN_BYTES and 2 * there >= total:
            return "moved"
        if self._periods < _MAX_PERIODS:
            return None
        return "idle" if total < _MIN_BYTES else "stuck"
