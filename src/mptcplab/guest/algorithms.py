# SPDX-License-Identifier: MIT
"""Checks that the kernel has the required congestion controls and schedulers, and records those that sockets used.

Socket diagnosis reports a subflow's congestion control. A file of the lab's kernels reports the schedulers, one line
per connection with its token; other kernels do not report them. Another file of these kernels counts the subflows that
found no memory for the coupling of their congestion control.
"""

from __future__ import annotations

import errno
import os
from _socket import AF_INET, SOCK_STREAM, socket  # the module `socket` around it takes longer than its use here

from mptcplab.guest import system
from mptcplab.guest.nodes import GuestError
from mptcplab.guest.sockets import SocketSampler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_SCHEDULERS = "/proc/net/mptcp_schedulers"
_COUPLED = "/proc/net/mptcp_coupled"
_AVAILABLE_CONTROLS = "/proc/sys/net/ipv4/tcp_available_congestion_control"
_AVAILABLE_SCHEDULERS = "/proc/sys/net/mptcp/available_schedulers"
_WEIGHTS = "/proc/sys/net/mptcp/scheduler_weights"
_IPPROTO_MPTCP, _SOL_MPTCP, _MPTCP_SCHEDULER = 262, 284, 43


def check(needs: dict[str, Any]) -> None:
    """Check that this kernel has everything in ``needs``. :raises GuestError: naming the first thing it lacks."""
    _check_names(needs["congestion_controls"], _AVAILABLE_CONTROLS, "congestion control")
    _check_names(needs["schedulers"], _AVAILABLE_SCHEDULERS, "MPTCP scheduler")
    if needs["scheduler_per_socket"] and not _takes_scheduler():
        raise GuestError("this kernel cannot set the scheduler of a single socket: set it for the hosts in [transport]")
    if needs["weights"] and not os.path.exists(_WEIGHTS):
        raise GuestError("this kernel has no weights for schedulers: build the lab's own with `mptcplab kernel build`")


def _check_names(names: Iterable[str], file: str, noun: str) -> None:
    if not names or not os.path.exists(file):
        return
    available = system.read(file).split()
    for name in names:
        if name not in available:
            raise GuestError(f"this kernel has no {noun} '{name}': it has {', '.join(sorted(available))}")


def _takes_scheduler() -> bool:
    probe = socket(AF_INET, SOCK_STREAM, _IPPROTO_MPTCP)
    try:
        probe.getsockopt(_SOL_MPTCP, _MPTCP_SCHEDULER, 16)
    except OSError as error:
        return error.errno not in (errno.EOPNOTSUPP, errno.ENOPROTOOPT)
    finally:
        probe.close()
    return True


class Watch:
    """Records the algorithms of a node's sockets. Create it inside the node's namespace, like a sampler."""

    def __init__(self, node: str) -> None:
        self.node = node
        self._sampler = SocketSampler(node)
        # The namespace at the time of opening determines whose file it is.
        self._file = _opened(_SCHEDULERS)
        self._coupled = _opened(_COUPLED)
        self._seen: dict[tuple[str, str], dict[str, Any]] = {}

    def sample(self) -> None:
        """Record the algorithms in use now."""
        schedulers = self._schedulers()
        for row in self._sampler.sample(0):
            known = {"local": row["local"], "remote": row["remote"], "congestion": [], "scheduler": []}
            noted = self._seen.setdefault((row["local"], row["remote"]), known)
            _note(noted["congestion"], row.get("congestion"))
            _note(noted["scheduler"], schedulers.get(row["token"]) if "token" in row else None)

    def _schedulers(self) -> dict[int, str]:
        """Return the scheduler of every connection by its token."""
        return parse_schedulers(_reread(self._file)) if self._file is not None else {}

    @property
    def found(self) -> dict[str, Any]:
        """All observed sockets by their ends, with all algorithms that each was observed to use.

        `uncoupled` is the number of subflows without memory for coupling; None if this kernel does not count them.
        """
        sockets = [self._seen[ends] for ends in sorted(self._seen)]
        uncoupled = parse_uncoupled(_reread(self._coupled)) if self._coupled is not None else None
        return {"uncoupled": uncoupled, "sockets": sockets}


def parse_schedulers(text: str) -> dict[int, str]:
    """Parse lines of a token in hexadecimal and a name."""
    lines = (line.split() for line in text.splitlines())
    return {int(words[0], 16): words[1] for words in lines if len(words) == 2}


def parse_uncoupled(text: str) -> int | None:
    """Return the count of lines "NAME NUMBER" that is named "uncoupled"; None if there is none."""
    counts = dict(line.split(maxsplit=1) for line in text.splitlines() if " " in line)
    return int(counts["uncoupled"]) if "uncoupled" in counts else None


def _note(names: list[str], name: str | None) -> None:
    if name and name not in names:
        names.append(name)


def _opened(file: str) -> int | None:
    try:
        return os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None


def _reread(descriptor: int) -> str:
    os.lseek(descriptor, 0, os.SEEK_SET)
    parts = []
    while part := os.read(descriptor, 1 << 16):
        parts.append(part)
    return b"".join(parts).decode()
