# SPDX-License-Identifier: MIT
"""The kernel as the daemon sees it: events, priorities and sockets. Messages may get lost; nothing depends on them.

A netlink socket whose buffer is full loses messages and says so once, by ENOBUFS. Then what waits in it may be old, or
the answer to an earlier question, so the socket is opened anew, and the caller reads the present state.
"""

from __future__ import annotations

import errno
import os
import re
import time

from mptcplab.errors import MissingError
from mptcplab.guest.mptcp_pm import Kernel
from mptcplab.steering.connections import SteeredConnection, connections_of
from mptcplab.steering.sockets import SocketSampler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from mptcplab.guest.mptcp_pm import End
    from mptcplab.steering.connections import SteeredSubflow

_ATTEMPTS = 3
_SETTINGS = "/proc/sys/net/mptcp"
_USERSPACE = "1"
#: The first release whose kernels keep the flags of both sides apart.
_APART = (6, 11)


class KernelLink:
    """The MPTCP of this network namespace. :raises OSError: if it has none."""

    def __init__(self) -> None:
        self._events, self._commands = Kernel(), _commands()
        self._peers_flags = PeersFlags(os.uname().release)
        self.overruns = 0

    def fileno(self) -> int:
        """Return the descriptor that is readable when there are events; another one after an overrun."""
        return self._events.notices.fileno()

    def have_subflows_changed(self) -> bool:
        """Read one packet of events, and return whether a subflow came, went, or may have done so."""
        try:
            return any(event.name.startswith("subflow") for event in self._events.events())
        except OSError as error:
            if error.errno != errno.ENOBUFS:
                raise
        self._events.notices.close()
        self._events = Kernel()
        self.overruns += 1
        return True

    def prefer(self, token: int, subflow: SteeredSubflow, *, backup: bool) -> int:
        """Send MP_PRIO; return 0 or the number of the error. A subflow that has just ended is one."""
        try:
            error = self._commands.prefer(token, subflow.local, subflow.remote, backup=backup)
        except OSError as lost:
            self._commands = _commands()
            self.overruns += 1
            return lost.errno or errno.EIO
        if backup and not error:
            self._peers_flags.note_request(token, subflow)
        return error

    def connections(self) -> list[SteeredConnection] | None:
        """Return all connections; None if the kernel cannot list its sockets now."""
        for _ in range(_ATTEMPTS):
            try:
                steered_connections = connections_of(SocketSampler("").sample(time.monotonic_ns()))
            except OSError:
                self.overruns += 1
                continue
            self._peers_flags.correct(steered_connections)
            return steered_connections
        return None


def _commands() -> Kernel:
    """Return a kernel's interface without events, which this side would not read."""
    kernel = Kernel()
    kernel.notices.close()
    return kernel


def check_path_manager(settings: str = _SETTINGS) -> None:
    """Check that new connections have a path manager in user space. :raises MissingError: if not."""
    release = os.uname().release
    if not os.path.isdir(settings):
        raise MissingError(f"Linux {release} has no MPTCP here", hint="use Linux 5.19 or later with CONFIG_MPTCP")
    try:
        with open(f"{settings}/pm_type") as file:
            text = file.read().strip()
    except FileNotFoundError as error:
        message = f"Linux {release} has no path managers in user space, which set the priorities of single subflows"
        raise MissingError(message, hint="use Linux 5.19 or later") from error
    if text != _USERSPACE:
        message = "the path manager is the kernel's own, with which nobody can set the priorities of single subflows"
        hint = "sudo sysctl net.mptcp.pm_type=1, before connections are opened"
        raise MissingError(message, hint=hint)


class PeersFlags:
    """Corrects the flag by which the kernel says that the terminal made a subflow a backup.

    Before Linux 6.11 the kernel sets and clears this flag also when this side sends MP_PRIO ("mptcp: pm: only set
    request_bkup flag when sending MP_PRIO"; later releases of 6.6 and others have that commit, too). ``is_echo``: this
    kernel does so. Its release says so at first, and then each subflow that this side makes a backup.
    """

    def __init__(self, release: str) -> None:
        self.is_echo = _version(release) < _APART
        self._asked: set[tuple[int, End, End]] = set()

    def note_request(self, token: int, subflow: SteeredSubflow) -> None:
        """Take note that this side has made a subflow a backup."""
        if not subflow.is_peers_backup:
            self._asked.add((token, *subflow.ends))

    def correct(self, connections: Iterable[SteeredConnection]) -> None:
        """Learn from connections as the kernel lists them now, and clear flags that only echo this side's flags."""
        subflows = [(connection.token, subflow) for connection in connections for subflow in connection.subflows]
        for token, subflow in subflows:
            if subflow.is_backup and (token, *subflow.ends) in self._asked:
                self.is_echo = subflow.is_peers_backup
        self._asked.clear()
        for _, subflow in subflows:
            if self.is_echo and subflow.is_backup:
                subflow.is_peers_backup = False


def _version(release: str) -> tuple[int, int]:
    """Return the numbers of a release like ``6.1.0-50-amd64``; without any, the numbers of a recent release."""
    match = re.match(r"(\d+)\.(\d+)", release)
    return (int(match[1]), int(match[2])) if match else _APART
