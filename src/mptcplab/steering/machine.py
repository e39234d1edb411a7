# SPDX-License-Identifier: MIT
"""The daemon's needs of this machine's kernel, and the way in which older ones report priorities."""

from __future__ import annotations

import os
import re

from mptcplab.errors import MissingError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from mptcplab.guest.mptcp_pm import End
    from mptcplab.steering.connections import SteeredConnection, SteeredSubflow

_SETTINGS = "/proc/sys/net/mptcp"
_USERSPACE = "1"
#: The first release whose kernels keep the flags of both sides apart.
_APART = (6, 11)


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
