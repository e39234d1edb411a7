# SPDX-License-Identifier: MIT
"""The first process of a run: the lab kernel's guest, in namespaces of this machine.

The guest (:mod:`mptcplab.guest.init`) owns its kernel. Here it does not, so this module replaces what affects a whole
kernel: mounts, limits of memory, random numbers, the kernel's log, the end. The rest works in namespaces.
"""

from __future__ import annotations

import contextlib
import os

from mptcplab.engine.local.isolation import fail, run_isolated, set_up_mounts
from mptcplab.guest import changes, init, instants, kernel_log, machine, system, timeline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SECOND = 1_000_000_000
#: Time for servers to start, at least: 20 times what the slowest of ours (lighttpd, on a busy machine) takes.
_ZERO_STEP_NS = _SECOND
#: Time for a waiting `tc` or `ip` to execute the commands of an event, and to report a failure.
_EXECUTION_NS = 2_000_000
#: A setting of the whole kernel, which namespaces can only read.
_WHOLE_KERNEL = "/proc/sys/net/ipv4/tcp_allowed_congestion_control"
_LIMITS = "/proc/sys/net/ipv4/tcp_mem"
#: The setting for interfaces that are created later, of the namespace.
_DETECTION = "/proc/sys/net/ipv6/conf/default/accept_dad"


def main(results: str, exposed: list[str]) -> None:
    """Execute the plan in the folder ``results``; never returns."""
    limits = [int(word) for word in system.read(_LIMITS).split()]
    run_isolated(lambda: _run(results, exposed, limits))


def _run(results: str, exposed: list[str], limits: list[int]) -> None:
    write, take_priority, add_namespace = system.write, instants.take_priority, system.add_namespace

    def mounts(results: str, exposed: list[str]) -> None:
        try:
            set_up_mounts(results, exposed)
        except OSError as error:
            fail(f"the namespaces cannot be set up: {error.strerror}")

    def write_in_namespace(file: str, content: bytes) -> None:
        if file != _WHOLE_KERNEL:
            write(file, content)

    def namespace(name: str) -> None:
        add_namespace(name)
        # Duplicate address detection of link-local addresses takes more than a second, and holds packets back:
        # the SYN of a second path was retransmitted after 1 s. The lab's kernel waits longer before programs start.
        with contextlib.suppress(OSError):  # without IPv6
            write(_DETECTION, b"0")

    def priority() -> None:
        with contextlib.suppress(PermissionError):  # not root
            take_priority()

    def state(tcp_pages_peak: int | None) -> dict[str, Any]:
        # The sockets of the whole machine count, since they share this memory.
        return {
            "softirq_rounds_delayed": None,
            "polls_advanced": None,
            "tcp_mem_pages": limits,
            "tcp_pages_peak": tcp_pages_peak,
            "page_bytes": os.sysconf("SC_PAGE_SIZE"),
        }

    system.set_up_mounts, system.write, system.add_namespace = mounts, write_in_namespace, namespace
    system.power_off = lambda: os._exit(0)
    instants.take_priority, instants.reseed = priority, lambda: None
    machine.fix_limits, machine.state = lambda: None, state
    kernel_log.read_log_of_problems = lambda: ""
    timeline._ZERO_NS, changes._EXECUTION_NS = _ZERO_STEP_NS, _EXECUTION_NS
    init.main(results, exposed)
