# SPDX-License-Identifier: MIT
"""The kernel's files of the coupled congestion controls, compiled with `shim.c` for user space and driven by events."""

from __future__ import annotations

from ctypes import CDLL, c_bool, c_char_p, c_int, c_int64, c_uint8, c_uint32, c_void_p
from pathlib import Path
from typing import Any

from tests.unit.compiler import compile_c
from tests.unit.coupled.library import HEADERS, HERE, ONE

#: Of `kernel/net/mptcp/`. `coupled_sysctl.c` is nothing but the kernel's files and is tested in the lab.
SOURCES = ("coupled.c", "coupled_window.c", "mptcp_lia.c", "mptcp_olia.c", "mptcp_balia.c", "mptcp_wvegas.c")
_KERNEL_HEADERS = ("hash", "list", "module", "slab", "spinlock")
#: TCP_ESTABLISHED and others of the kernel's `enum` of states.
FIN_WAIT1, CLOSE_WAIT = 4, 8
#: Of one subflow: its retransmission timeout in ticks of the clock, and bytes in a segment.
RTO, SEGMENT = 200, 1000

_SIGNATURES: dict[str, tuple[list[Any], Any]] = {
    "net": ([], c_void_p),
    "connection": ([c_void_p], c_void_p),
    "subflow": ([c_void_p, c_void_p, c_char_p, c_uint32, c_uint32], c_void_p),
    "close": ([c_void_p], None),
    "ack": ([c_void_p, c_uint32, c_uint32], None),
    "loss": ([c_void_p, c_bool], None),
    "recovered": ([c_void_p], None),
    "timeout": ([c_void_p], None),
    "timeout_over": ([c_void_p], None),
    "clock": ([c_uint32], None),
    "memory": ([c_bool], None),
    "allocated": ([], c_int),
    "set": ([c_void_p, c_uint8, c_uint8, c_uint8], None),
    "failures": ([c_void_p], c_uint32),
    "socket_state": ([c_void_p, c_int], None),
    "set_window": ([c_void_p, c_uint32, c_uint32], None),
    "cwnd": ([c_void_p], c_uint32),
    "ssthresh": ([c_void_p], c_uint32),
    "coupled": ([c_void_p], c_bool),
    "credit": ([c_void_p], c_int64),
}


def compile_controls(directory: Path) -> CDLL:
    """Compile the controls with all of gcc's warnings, except for parameters that an operation does not use."""
    for name in (*(f"linux/{header}.h" for header in _KERNEL_HEADERS), "net/tcp.h", "protocol.h"):
        (directory / name).parent.mkdir(exist_ok=True)
        (directory / name).write_text('#include "shim.h"\n')
    linked = directory / "controls.so"
    strict = ["-O1", "-std=gnu11", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-sign-compare", "-Werror"]
    places = [option for place in (directory, HERE, HEADERS) for option in ("-I", str(place))]
    files = [str(HERE / "shim.c"), *(str(HEADERS / name) for name in SOURCES)]
    compile_c(["gcc", *strict, *places, "-fPIC", "-shared", *files, "-o", str(linked)])
    library = CDLL(str(linked))
    for name, (arguments, result) in _SIGNATURES.items():
        function = getattr(library, f"event_{name}")
        function.argtypes, function.restype = arguments, result
    return library


class Subflow:
    """A subflow in congestion avoidance, or a TCP socket."""

    def __init__(self, library: CDLL, pointer: int) -> None:
        self._library, self.pointer = library, pointer

    def _event(self, name: str, *arguments: Any) -> Any:
        return getattr(self._library, f"event_{name}")(self.pointer, *arguments)

    def ack(self, segments: int = 1, rtt_us: int = 20_000) -> None:
        """An ACK of data."""
        self._event("ack", segments, rtt_us)

    def loss(self, *, ecn: bool = False) -> None:
        """Fast recovery begins, or what ECN asks for."""
        self._event("loss", ecn)

    def end_recovery(self) -> None:
        """It ends."""
        self._event("recovered")

    def timeout(self) -> None:
        """A retransmission timeout."""
        self._event("timeout")

    def timeout_over(self) -> None:
        """All that was lost by then was acked."""
        self._event("timeout_over")

    def close(self) -> None:
        """The socket goes."""
        self._event("close")

    def enter(self, state: int) -> None:
        """A state of the socket."""
        self._event("socket_state", state)

    def set(self, window: int, ssthresh: int | None = None) -> None:
        """A window, as PRR and others set it; without `ssthresh` it stays."""
        self._event("set_window", window, self.ssthresh if ssthresh is None else ssthresh)

    def gain(self, segments: int = 1, rtt_us: int = 20_000) -> float:
        """Segments that one such ACK adds to the window, whole ones and not yet whole ones."""
        before = self.exact
        self.ack(segments, rtt_us)
        return (self.exact - before) / ONE

    @property
    def exact(self) -> int:
        """Window and credit, in 2^-48 segments."""
        return self.window * ONE + int(self._event("credit"))

    @property
    def window(self) -> int:
        """In segments."""
        return int(self._event("cwnd"))

    @property
    def ssthresh(self) -> int:
        """In segments."""
        return int(self._event("ssthresh"))

    @property
    def coupled(self) -> bool:
        """Whether it has a group."""
        return bool(self._event("coupled"))


class World:
    """A network namespace with one MPTCP connection."""

    def __init__(self, library: CDLL) -> None:
        self._library = library
        self._net = library.event_net()
        self._connection = library.event_connection(self._net)
        self.now = 1_000_000
        self.wait(0)
        self.memory(there=True)

    def subflow(
        self, control: str, window: int, *, rtt_us: int = 20_000, tcp: bool = False, start: bool = False
    ) -> Subflow:
        """One more, established; in congestion avoidance unless it is to start."""
        connection = None if tcp else self._connection
        made = self._library.event_subflow(self._net, connection, control.encode(), window, rtt_us)
        assert made, f"there is no {control}"
        subflow = Subflow(self._library, made)
        if not start:
            subflow.set(window, 2)
        return subflow

    def pair(self, control: str, first: int, second: int, *, rtt_us: int = 20_000) -> tuple[Subflow, Subflow]:
        """Two subflows of these windows that have reported them to each other; `rtt_us` is the second's."""
        subflow, other = self.subflow(control, first), self.subflow(control, second, rtt_us=rtt_us)
        subflow.ack()
        other.ack(rtt_us=rtt_us)
        subflow.set(first)
        other.set(second)
        return subflow, other

    def settings(self, *, hystart: bool = False, olia_best: int = 0, count_idle: bool = False) -> None:
        """The sysctl of this namespace."""
        self._library.event_set(self._net, hystart, olia_best, count_idle)

    def wait(self, ticks: int) -> None:
        """Let time pass."""
        self.now = (self.now + ticks) % (1 << 32)
        self._library.event_clock(self.now)

    def memory(self, *, there: bool) -> None:
        """Whether allocations succeed."""
        self._library.event_memory(there)

    @property
    def failures(self) -> int:
        """Subflows that were counted as uncoupled because an allocation failed."""
        return int(self._library.event_failures(self._net))

    @property
    def groups(self) -> int:
        """Groups of all connections that are in memory."""
        return int(self._library.event_allocated())
