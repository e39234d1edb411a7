# SPDX-License-Identifier: MIT
"""Runs programs natively in a network namespace of their own, which has only the loopback interface."""

from __future__ import annotations

import os
import resource
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mptcplab.errors import LabError

_READY_SECONDS = 10.0
_POLL_SECONDS = 0.01
_LISTEN = "0A"
#: A process that waits, with its number known, until it may become the program.
_GATE = ("sh", "-c", 'read -r _ && exec "$0" "$@"')
_HOLDER = "ip link set dev lo up && echo up && exec cat"


@dataclass
class Running:
    """A started program."""

    argv: tuple[str, ...]
    process: subprocess.Popen[str]
    errors: Path

    @property
    def pid(self) -> int:
        """Its process number."""
        return self.process.pid

    def cpu_ns(self) -> int:
        """Return the CPU time of all its threads so far, in ns. The program must run."""
        # The clock of another process: include/linux/posix-timers_types.h.
        return time.clock_gettime_ns((~self.pid << 3) | 2)

    def begin(self) -> None:
        """Let a program that was started behind the gate begin."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.close()

    def wait(self, seconds: float) -> resource.struct_rusage:
        """Wait for its end and return what it used. :raises LabError: if it fails, or does not end in time."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            pid, status, used = os.wait4(self.pid, os.WNOHANG)
            if pid:
                self.process.returncode = os.waitstatus_to_exitcode(status)
                if self.process.returncode:
                    raise self.failure(f"ended with status {self.process.returncode}")
                return used
            time.sleep(_POLL_SECONDS)
        raise self.failure(f"did not end within {seconds:g} s")

    def failure(self, what: str) -> LabError:
        """Return an error about the program with the end of its error output."""
        lines = self.errors.read_text(errors="replace").strip().splitlines()
        return LabError(f"'{self.argv[0]}' {what}", hint=lines[-1] if lines else None)


class CalibrationBed:
    """Starts programs in the namespace of the process ``holder``; ``folder`` takes what they print."""

    def __init__(self, holder: int, folder: Path) -> None:
        self._holder, self._folder = holder, folder
        self._started: list[Running] = []

    def start(self, argv: Sequence[str], *, cpu: int, gated: bool = False) -> Running:
        """Start a program on one CPU; ``gated``: it waits for :meth:`Running.begin`."""
        number = len(self._started)
        words = ("nsenter", f"--net=/proc/{self._holder}/ns/net", "taskset", "--cpu-list", str(cpu))
        output, errors = (self._folder / f"{number}.{kind}" for kind in ("out", "err"))
        with output.open("w") as out, errors.open("w") as err:
            process = subprocess.Popen(
                [*words, *(_GATE if gated else ()), *argv],
                stdin=subprocess.PIPE if gated else subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                text=True,
            )
        running = Running(tuple(argv), process, errors)
        self._started.append(running)
        return running

    def output(self, running: Running) -> str:
        """Return what a program has printed."""
        return running.errors.with_suffix(".out").read_text()

    def wait_for_port(self, running: Running, port: int) -> None:
        """Wait until a program listens on ``port``. :raises LabError: if it ends before, or does not listen in time."""
        deadline = time.monotonic() + _READY_SECONDS
        while port not in self._listening_ports():
            if running.process.poll() is not None:
                raise running.failure(f"ended with status {running.process.returncode} before it listened")
            if time.monotonic() > deadline:
                raise running.failure(f"does not listen on port {port}")
            time.sleep(_POLL_SECONDS)

    def _listening_ports(self) -> set[int]:
        ports: set[int] = set()
        for name in ("tcp", "tcp6"):
            rows = [line.split() for line in Path(f"/proc/{self._holder}/net/{name}").read_text().splitlines()[1:]]
            ports |= {int(row[1].rpartition(":")[2], 16) for row in rows if row[3] == _LISTEN}
        return ports

    def end(self, running: Running) -> None:
        """End a program, if it still runs."""
        if running.process.returncode is None:
            running.process.kill()
            running.process.wait()

    def end_all(self) -> None:
        """End all programs."""
        for running in reversed(self._started):
            self.end(running)


@contextmanager
def open_bed(folder: Path) -> Iterator[CalibrationBed]:
    """Make the namespace; everything in it ends on leaving. :raises LabError: if it cannot be made."""
    with subprocess.Popen(
        ["unshare", "--net", "sh", "-c", _HOLDER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stderr is not None
        if holder.stdout.readline().strip() != "up":
            raise LabError(
                "no network namespace can be made on this machine", hint=holder.stderr.read().strip() or None
            )
        made = CalibrationBed(holder.pid, folder)
        try:
            yield made
        finally:
            made.end_all()
            holder.kill()
