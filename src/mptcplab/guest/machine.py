# SPDX-License-Identifier: MIT
"""The state of the machine that all hosts of a lab share: TCP's memory, and two of the kernel's counters."""

from __future__ import annotations

import os

from mptcplab.guest import system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: See kernel/patches/0009.
_ROUNDS = "/proc/sys/kernel/um_softirq_rounds_delayed"
#: See kernel/patches/0019.
_POLLS = "/proc/sys/kernel/um_polls_advanced"
_LIMITS = "/proc/sys/net/ipv4/tcp_mem"
#: Pages, about as many as Linux derives for 1 GB of memory (tcp_init_mem() and udp_init(): 1/16 and 1/8 of the free
#: pages, and 3/4 and 3/2 of this number). Free pages differ from boot to boot with the length of the command line.
_FIXED = {"tcp_mem": (12000, 16000, 24000), "udp_mem": (24000, 32000, 48000)}


def fix_limits() -> None:
    """Set the same limits of TCP's and UDP's memory in every boot, so that runs repeat byte for byte."""
    for name, pages in _FIXED.items():
        system.write(f"/proc/sys/net/ipv4/{name}", " ".join(map(str, pages)).encode())


def state(tcp_pages_peak: int | None) -> dict[str, Any]:
    """Return the recorded state of the machine. A value that this kernel does not report is None, never 0."""
    return {
        "softirq_rounds_delayed": _number(_ROUNDS),
        "polls_advanced": _number(_POLLS),
        "tcp_mem_pages": [int(word) for word in system.read(_LIMITS).split()],
        "tcp_pages_peak": tcp_pages_peak,
        "page_bytes": os.sysconf("SC_PAGE_SIZE"),
    }


def _number(file: str) -> int | None:
    try:
        return int(system.read(file))
    except FileNotFoundError:
        return None
