# SPDX-License-Identifier: MIT
"""A path manager: opens and closes the subflows of a host's connections as its interfaces change.

It runs beside the host's programs, with ``net.mptcp.path_manager = userspace``, and reacts to the kernel's notices of
connections and subflows, interfaces and addresses. Each interface has a mode:

on, master   used; the routing table prefers the routes of master
backup       used, with subflows that carry data only when no other can
handover     used only if no other can be used: its subflow is opened when all others are gone, and closed when one
             of them is back
off          never used

The side that accepted a connection announces its addresses and opens no subflows: the other side may be behind a NAT.
When an interface goes down, REMOVE_ADDR is sent to the other side and the subflows are closed, as soon as another
subflow can carry this message. A subflow that could not be opened, or that the network closed, is retried after
1, 2, 4, ... s.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time

from mptcplab.guest.interfaces import Interfaces
from mptcplab.guest.mptcp_pm import Kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from mptcplab.guest.mptcp_pm import End, Event

_SECOND = 1_000_000_000
_MAX_WAIT_NS = 16 * _SECOND
#: A connection without subflows is abandoned after this time: the kernel ends it a minute after the last attempt.
_ABANDONED_NS = 60 * _SECOND
#: A message must come later than the end of a subflow's handshake, which takes one round trip longer than the kernel's
#: notice suggests. This margin is added in case the handshake is measured too short.
_MARGIN_NS = 10_000_000


class Path:
    """One of the host's interfaces, as the configuration describes it."""

    def __init__(self, table: dict[str, Any]) -> None:
        self.link: str = table["link"]
        self.address: str = table["address"]
        self.number: int = table["id"]
        self.mode: str = table["mode"]
        #: Addresses of other hosts to which a path begins at this interface.
        self.reaches: list[str] = table["reaches"]


class Backoff:
    """The time until the next attempt for a pair of addresses, which doubles with each failure."""

    def __init__(self) -> None:
        self.until_ns, self._next_ns = 0, _SECOND

    def extend(self, now_ns: int) -> None:
        """Wait longer after another failed attempt."""
        self.until_ns = now_ns + self._next_ns
        self._next_ns = min(2 * self._next_ns, _MAX_WAIT_NS)


class Connection:
    """One connection and its subflows, by their two ends."""

    def __init__(self, event: Event) -> None:
        self.token, self.is_server = event.token, event.server_side
        #: Addresses and ports of the other side, with its address IDs.
        self.remotes: dict[End, int] = {event.remote: 0}
        #: Our address IDs of established subflows, and the instants from which these can carry messages.
        self.subflows: dict[tuple[End, End], int] = {(event.local, event.remote): 0}
        self.usable_from_ns: dict[tuple[End, End], int] = {}
        #: The instant at which the last subflow was closed.
        self.alone_since_ns = 0
        self.opened_ns: dict[tuple[str, End], int] = {}
        self.opening: dict[tuple[str, End], int] = {}
        self.backoffs: dict[tuple[str, End], Backoff] = {}
        self.announced: set[str] = set()
        #: Our addresses whose last subflow was closed by the network, or could not be opened.
        self.lost: set[str] = set()
        #: Subflows that were closed here, and whose end the kernel has not yet reported.
        self.closing: set[tuple[End, End]] = set()

    def subflows_of(self, address: str) -> list[tuple[End, End]]:
        """Return the established subflows of one of our addresses."""
        return [ends for ends in self.subflows if ends[0][0] == address]

    def pairs(self) -> set[tuple[str, End]]:
        """Return our address and the other end of all subflows that are established or being opened."""
        return {(local[0], remote) for local, remote in self.subflows} | set(self.opening)

    def count(self, pair: tuple[str, End]) -> int:
        """Return the number of subflows that a pair of addresses has or will have."""
        established = sum((local[0], remote) == pair for local, remote in self.subflows)
        return established + self.opening.get(pair, 0)


class Manager:
    """All connections of one host."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._paths = [Path(table) for table in config["paths"]]
        self._full_mesh: bool = config["full_mesh"]
        self._per_pair: int = config["subflows_per_pair"]
        self._kernel, self._interfaces = Kernel(), Interfaces()
        self._connections: dict[int, Connection] = {}
        self._usable = self._usable_addresses()

    def run(self) -> None:
        """Manage paths until killed."""
        poll = select.poll()
        for notices in (self._kernel.notices, self._interfaces.notices):
            poll.register(notices.fileno(), select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in poll.poll(self._timeout_ms())}
            if self._interfaces.notices.fileno() in ready:
                self._interfaces.read()
                self._handle_interfaces()
            if self._kernel.notices.fileno() in ready:
                for event in self._kernel.events():
                    self._handle_event(event)
            for connection in list(self._connections.values()):
                self._update(connection)

    def _timeout_ms(self) -> float | None:
        now, connections = time.monotonic_ns(), self._connections.values()
        waits = [backoff.until_ns for connection in connections for backoff in connection.backoffs.values()]
        waits += [from_ns for connection in connections for from_ns in connection.usable_from_ns.values()]
        later = [until - now for until in waits if until > now]
        return min(later) / 1e6 + 0.001 if later else None

    def _usable_addresses(self) -> set[str]:
        """Return the addresses of paths that can be used now."""
        return {path.address for path in self._paths if self._interfaces.is_usable(path.link, path.address)}

    def _handle_interfaces(self) -> None:
        usable = self._usable_addresses()
        for path in self._paths:
            if (path.address in usable) == (path.address in self._usable):
                continue
            _log("usable" if path.address in usable else "gone", link=path.link)
            for connection in self._connections.values():
                # Earlier attempts say nothing about the present state of the interface.
                connection.lost.discard(path.address)
                for pair in [pair for pair in connection.backoffs if pair[0] == path.address]:
                    del connection.backoffs[pair]
        self._usable = usable

    def _handle_event(self, event: Event) -> None:
        known = self._connections.get(event.token)
        if event.name == "established" and known is None:
            _log("connection", token=event.token, local=event.local, remote=event.remote, server=event.server_side)
            self._connections[event.token] = Connection(event)
        elif known is None:
            return
        elif event.name == "closed":
            _log("closed", token=event.token)
            del self._connections[event.token]
        elif event.name == "announced":
            port = event.remote[1] or next(iter(known.remotes))[1]
            known.remotes[event.remote[0], port] = event.rem_id
            _log("announced", token=event.token, remote=event.remote, number=event.rem_id)
        elif event.name == "removed":
            _log("removed", token=event.token, number=event.rem_id)
            for end in [end for end, number in known.remotes.items() if number == event.rem_id and number]:
                del known.remotes[end]
        elif event.name == "subflow-established":
            self._add_subflow(known, event)
        elif event.name == "subflow-closed":
            self._remove_subflow(known, event)

    def _add_subflow(self, connection: Connection, event: Event) -> None:
        pair = (event.local[0], event.remote)
        _finish_attempt(connection, pair)
        connection.backoffs.pop(pair, None)
        connection.lost.discard(event.local[0])
        connection.alone_since_ns = 0
        connection.subflows[event.local, event.remote] = event.loc_id
        now = time.monotonic_ns()
        handshake_ns = now - connection.opened_ns.get(pair, now)
        connection.usable_from_ns[event.local, event.remote] = now + handshake_ns + _MARGIN_NS
        _log("subflow", token=event.token, local=event.local, remote=event.remote)
        path = self._path(event.local[0])
        if connection.is_server and path is not None and path.mode == "backup":
            self._kernel.prefer(event.token, event.local, event.remote, backup=True)

    def _remove_subflow(self, connection: Connection, event: Event) -> None:
        address, pair = event.local[0], (event.local[0], event.remote)
        if (event.local, event.remote) in connection.closing:
            connection.closing.discard((event.local, event.remote))
            return
        _log(
            "subflow-closed", token=event.token, local=event.local, remote=event.remote, error=_error_name(event.error)
        )
        connection.usable_from_ns.pop((event.local, event.remote), None)
        if connection.subflows.pop((event.local, event.remote), None) is None:
            _finish_attempt(connection, pair)
        if not connection.subflows_of(address):
            connection.lost.add(address)
        if not connection.subflows and not connection.alone_since_ns:
            connection.alone_since_ns = time.monotonic_ns()
        connection.backoffs.setdefault(pair, Backoff()).extend(time.monotonic_ns())

    def _path(self, address: str) -> Path | None:
        return next((path for path in self._paths if path.address == address), None)

    def _update(self, connection: Connection) -> None:
        """Open, announce and close what a connection needs now."""
        wanted = self._select_paths(connection)
        if connection.is_server:
            for path in wanted:
                self._announce(connection, path)
        else:
            for path, remote in list(self._pairs(connection, wanted)):
                self._open(connection, path, remote)
        self._close_unwanted(connection, {path.address for path in wanted})

    def _select_paths(self, connection: Connection) -> list[Path]:
        """Return the paths to use: handover ones only if all others are gone."""
        usable = [path for path in self._paths if path.address in self._usable and path.mode != "off"]
        ordinary = [path for path in usable if path.mode != "handover"]
        if any(path.address not in connection.lost for path in ordinary):
            return ordinary
        return usable

    def _pairs(self, connection: Connection, wanted: list[Path]) -> Iterator[tuple[Path, End]]:
        """Yield the subflows that should exist: a full mesh, or one for every path and for every remote address."""
        existing = connection.pairs()
        for path in wanted:
            reached = [remote for remote in connection.remotes if remote[0] in path.reaches]
            connected = [remote for address, remote in existing if address == path.address and remote in reached]
            for remote in reached if self._full_mesh else connected or reached[:1]:
                yield path, remote
        for remote in connection.remotes:
            if not self._full_mesh and not any(other == remote for _, other in connection.pairs()):
                first = next((path for path in wanted if remote[0] in path.reaches), None)
                if first is not None:
                    yield first, remote

    def _open(self, connection: Connection, path: Path, remote: End) -> None:
        pair, now = (path.address, remote), time.monotonic_ns()
        if connection.alone_since_ns and now > connection.alone_since_ns + _ABANDONED_NS:
            return
        while connection.count(pair) < self._per_pair:
            if pair in connection.backoffs and connection.backoffs[pair].until_ns > now:
                return
            error = self._kernel.create(
                connection.token,
                path.address,
                path.number,
                self._interfaces.index[path.link],
                remote,
                connection.remotes[remote],
                backup=path.mode == "backup",
            )
            _log("open", token=connection.token, local=path.address, remote=remote, error=_error_name(error))
            if error:
                connection.lost.add(path.address)
                connection.backoffs.setdefault(pair, Backoff()).extend(now)
                return
            connection.opening[pair] = connection.opening.get(pair, 0) + 1
            connection.opened_ns[pair] = now

    def _announce(self, connection: Connection, path: Path) -> None:
        used = {local[0] for (local, _), number in connection.subflows.items() if number == 0}
        if path.address in connection.announced or path.address in used:
            return
        error = self._kernel.announce(connection.token, path.address, path.number)
        _log("announce", token=connection.token, local=path.address, error=_error_name(error))
        connection.announced.add(path.address)

    def _close_unwanted(self, connection: Connection, wanted: set[str]) -> None:
        """Close subflows that are no longer wanted, if a wanted one exists."""
        now = time.monotonic_ns()
        kept = (ends for ends in connection.subflows if ends[0][0] in wanted)
        if not any(connection.usable_from_ns.get(ends, 0) <= now for ends in kept):
            return
        for (local, remote), number in list(connection.subflows.items()):
            path = self._path(local[0])
            if path is None or local[0] in wanted or (path.mode == "off" and number == 0):
                continue
            error = self._kernel.remove(connection.token, number)
            _log("remove", token=connection.token, local=local[0], number=number, error=_error_name(error))
            error = self._kernel.destroy(connection.token, local, remote)
            _log("close", token=connection.token, local=local, remote=remote, error=_error_name(error))
            connection.closing.add((local, remote))
            del connection.subflows[local, remote]
            connection.usable_from_ns.pop((local, remote), None)
            connection.announced.discard(local[0])
        for path in self._paths:
            if path.address in connection.announced - wanted:
                error = self._kernel.remove(connection.token, path.number)
                _log("remove", token=connection.token, local=path.address, number=path.number, error=_error_name(error))
                connection.announced.discard(path.address)


def _finish_attempt(connection: Connection, pair: tuple[str, End]) -> None:
    """Count an attempt as ended, whatever its outcome."""
    left = connection.opening.get(pair, 0) - 1
    if left > 0:
        connection.opening[pair] = left
    else:
        connection.opening.pop(pair, None)


def _error_name(number: int) -> str:
    return os.strerror(number).lower() if number else ""


def _log(event: str, **values: object) -> None:
    """Write a line of the log, which the recording keeps."""
    given = {key: value for key, value in values.items() if value != ""}
    sys.stdout.write(json.dumps({"t_ns": time.monotonic_ns(), "event": event, **given}) + "\n")
    sys.stdout.flush()


def main(config: str) -> None:
    """Manage the paths of this namespace; ``config`` is JSON, see mptcplab/node/mptcp.py."""
    Manager(json.loads(config)).run()


if __name__ == "__main__":
    main(sys.argv[1])
