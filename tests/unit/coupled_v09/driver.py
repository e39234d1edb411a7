# SPDX-License-Identifier: MIT
"""The kernel's `v09*.c`, compiled for user space without a change, and called event by event as TCP calls them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from ctypes import CDLL, c_bool, c_char_p, c_uint32, c_uint64
from dataclasses import dataclass
from pathlib import Path

from tests.unit.compiler import compile_c

HERE = Path(__file__).parent
SOURCES = HERE.parents[2] / "kernel" / "net" / "mptcp"
CONGESTION_CONTROLS = ("lia_v09", "olia_v09", "balia_v09", "wvegas_v09")
PATHS = 8
INFINITE_SSTHRESH = 0x7FFFFFFF

#: In the order of `enum operation` in `driver.c`, each with its number of arguments after the path.
OPERATIONS = {
    "join-tcp": 3,
    "join": 3,
    "leave": 0,
    "sk-state": 1,
    "ca-state": 1,
    "rtt": 1,
    "sample": 1,
    "send": 1,
    "ack": 3,
    "ssthresh": 0,
    "settle": 0,
    "cwnd": 1,
    "event": 1,
    "retransmits": 1,
    "clamp": 1,
    "undo": 0,
}
_CODES = {name: code for code, name in enumerate(OPERATIONS)}

#: Values of `sk-state`, `ca-state` and `event`, as in the kernel; of `event` as in `kernel.h`.
ESTABLISHED, FIN_WAIT1, CLOSE_WAIT = 1, 4, 8
OPEN, DISORDER, CWR, RECOVERY, LOSS = range(5)
CWND_RESTART, COMPLETE_CWR, EVENT_LOSS = 1, 2, 3

#: Every header of the kernel that the sources include; each is `kernel.h` here.
_KERNEL_HEADERS = ("linux/list.h", "linux/module.h", "linux/spinlock.h", "linux/types.h", "net/tcp.h", "protocol.h")
_WARNINGS = ["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-Wno-sign-compare", "-std=gnu11"]


@dataclass(frozen=True)
class Event:
    """One operation on one path of the connection."""

    name: str
    path: int
    arguments: tuple[int, ...] = ()

    def __str__(self) -> str:
        return " ".join((self.name, str(self.path), *map(str, self.arguments)))

    @classmethod
    def parse(cls, text: str) -> Event:
        """The event of which this is the text."""
        name, path, *arguments = text.split()
        assert len(arguments) == OPERATIONS[name], text
        return cls(name, int(path), tuple(map(int, arguments)))


@dataclass(frozen=True)
class Window:
    """Congestion window and slow start threshold of the event's path after it; both 0 if it has none any more."""

    cwnd: int
    ssthresh: int


class Driver:
    """The congestion controls of one shared object. Only one connection exists at a time."""

    def __init__(self, path: Path) -> None:
        self._library = CDLL(str(path))
        self._library.drive_open.argtypes, self._library.drive_open.restype = [c_char_p], c_bool
        self._library.drive.argtypes, self._library.drive.restype = [c_uint32] * 5, c_uint64

    def open(self, control: str) -> None:
        """Begin a connection without subflows; the one before is gone."""
        assert self._library.drive_open(control.encode()), f"no congestion control {control}"

    def step(self, event: Event) -> Window:
        """Let one thing happen."""
        arguments = [value & 0xFFFFFFFF for value in event.arguments]
        arguments += [0] * (3 - len(arguments))
        both = self._library.drive(_CODES[event.name], event.path, *arguments)
        return Window(both >> 32, both & 0xFFFFFFFF)

    def run(self, control: str, events: Iterable[Event]) -> list[Window]:
        """What a connection's windows are after each event."""
        self.open(control)
        return [self.step(event) for event in events]


def compile_driver(directory: Path, sources: Path = SOURCES, sanitizers: Sequence[str] = ()) -> Path:
    """Compile the four congestion controls with what stands for a kernel, and return the shared object."""
    include = directory / "include"
    for header in _KERNEL_HEADERS:
        (include / header).parent.mkdir(parents=True, exist_ok=True)
        (include / header).write_text('#include "kernel.h"\n')
    files = [HERE / "driver.c", HERE / "group.c", *sorted(sources.glob("v09*.c"))]
    flags = [f"-fsanitize={','.join(sanitizers)}", "-fno-sanitize-recover=all"] if sanitizers else []
    made = directory / "v09.so"
    command = ["gcc", *_WARNINGS, *flags, "-fPIC", "-shared", "-I", str(include), "-I", str(HERE), "-I", str(sources)]
    compile_c([*command, *map(str, files), "-o", str(made)])
    return made


def run_sanitized(library: Path, control: str, events: Sequence[Event]) -> list[Window]:
    """The same as `Driver.run()` in a process of its own, which has the address sanitizer and fails if it complains."""
    preload = subprocess.run(["gcc", "-print-file-name=libasan.so"], check=True, capture_output=True, text=True)
    environment = os.environ | {"LD_PRELOAD": preload.stdout.strip(), "ASAN_OPTIONS": "detect_leaks=0"}
    program = [sys.executable, "-m", "tests.unit.coupled_v09.driver", str(library), control]
    lines = "\n".join(map(str, events))
    done = subprocess.run(
        program, input=lines, capture_output=True, text=True, env=environment, cwd=HERE.parents[2], check=False
    )
    assert done.returncode == 0, done.stderr
    return [Window(*map(int, line.split())) for line in done.stdout.splitlines()]


def _main() -> None:
    driver = Driver(Path(sys.argv[1]))
    for window in driver.run(sys.argv[2], [Event.parse(line) for line in sys.stdin]):
        print(window.cwnd, window.ssthresh)


if __name__ == "__main__":
    _main()
