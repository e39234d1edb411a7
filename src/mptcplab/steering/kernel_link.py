# SPDX-License-Identifier: MIT
"""The kernel as the daemon sees it: events, priorities and sockets. Messages may get lost; nothing depends on them.

A netlink socket whose buffer is full loses messages and says so once, by ENOBUFS. Then what waits in it may be old, or
the answer to an earlier question, so the socket is opened anew, and the caller reads the present state.
"""

from __future__ import annotations

import errno
import os
import time

from mptcplab.guest.mptcp_pm import Kernel
from mptcplab.steering.connections import SteeredConnection, connections_of
from mptcplab.steering.machine import PeersFlags
from mptcplab.steering.sockets import SocketSampler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mptcplab.steering.connections import SteeredSubflow

_ATTEMPTS = 3


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
