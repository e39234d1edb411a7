# SPDX-License-Identifier: MIT
"""Checks that the kernel has the required congestion controls and schedulers, and counts subflows without coupling.

The sampler notes the algorithms that sockets used: tools/sampler/watch.c.
"""

from __future__ import annotations

import errno
import os
from _socket import AF_INET, SOCK_STREAM, socket  # the module `socket` around it takes longer than its use here

from mptcplab.guest import system
from mptcplab.guest.nodes import GuestError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

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


def count_uncoupled() -> int | None:
    """Return the number of this namespace's subflows that found no memory for the coupling of their congestion control.

    None if this kernel does not count them.
    """
    return parse_uncoupled(system.read(_COUPLED)) if os.path.exists(_COUPLED) else None


def parse_uncoupled(text: str) -> int | None:
    """Return the count of lines "NAME NUMBER" that is named "uncoupled"; None if there is none."""
    counts = dict(line.split(maxsplit=1) for line in text.splitlines() if " " in line)
    return int(counts["uncoupled"]) if "uncoupled" in counts else None
