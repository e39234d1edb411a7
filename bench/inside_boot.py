# SPDX-License-Identifier: MIT
"""Marks of the stages of a stock machine's life, written to its console by process 1. Runs inside the machine.

The first packet is seen by a process of its own, which waits at the client's interfaces.
"""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Callable
from typing import Any

#: The word before a mark, and the mark of the first packet.
MARK, FIRST = "bench-mark", "first packet"
_ALL_PROTOCOLS, _IPV4 = 3, 0x0800


def mark(name: str) -> None:
    """Write a mark with the machine's clock."""
    os.write(sys.stderr.fileno(), f"{MARK} {time.monotonic_ns()} {name}\n".encode())


def install(client: str) -> None:
    """Wrap the functions of process 1 that begin or end a stage. The first packet is the node ``client``'s."""
    mark("process 1")
    from mptcplab.engine.stock import start
    from mptcplab.guest.nodes import Nodes
    from mptcplab.guest.timeline import Timeline

    mark("imports")
    _call_after(start, "_load_modules", "modules")
    _call_after(Nodes, "set_up", "network", lambda nodes: _watch(nodes, client))
    _call_before(Timeline, "_run_clients", "servers")
    _call_before(Timeline, "_end_servers", "traffic")
    _call_before(start, "_send_results", "counters")
    _call_after(start, "_send_results", "results")


def _call_after(owner: Any, function: str, name: str, also: Callable[[Any], None] | None = None) -> None:
    original = getattr(owner, function)

    @functools.wraps(original)
    def wrapper(*arguments: Any) -> Any:
        result = original(*arguments)
        mark(name)
        if also is not None:
            also(arguments[0])
        return result

    setattr(owner, function, wrapper)


def _call_before(owner: Any, function: str, name: str) -> None:
    original = getattr(owner, function)

    @functools.wraps(original)
    def wrapper(*arguments: Any) -> Any:
        mark(name)
        return original(*arguments)

    setattr(owner, function, wrapper)


def _watch(nodes: Any, client: str) -> None:
    """Start a process that marks the client's first IPv4 packet."""
    import _socket

    if os.fork():
        return
    nodes.enter(client)
    tap = _socket.socket(_socket.AF_PACKET, _socket.SOCK_DGRAM, _socket.htons(_ALL_PROTOCOLS))
    while tap.recvfrom(1)[1][1] != _IPV4:
        pass
    mark(FIRST)
    os._exit(0)
