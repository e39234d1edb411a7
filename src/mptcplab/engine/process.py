# SPDX-License-Identifier: MIT
"""A guest as a process of this machine: its start on one CPU, its console, its exit, and what ends it before."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from mptcplab.engine.defaults import DEFAULT_STALL_SECONDS
from mptcplab.engine.protocol import RunInterruptedError
from mptcplab.errors import MissingError

# A guest as a process of this machine: its start on one CPU, its console, its exit.
#
# It runs in its own session and without core dumps. The host kernel kills it if this process dies.

_MAX_CONSOLE_BYTES = 1 << 20
#: The placeholder for our process id in LAUNCHERS.
PARENT = "PARENT"
#: A process gets the signal at our death only after it has asked for it. The shell checks that we were alive then.
_DIES, _STARTS = ("setpriv", "--pdeathsig", "KILL"), 'test "$PPID" = "$0" && exec "$@"'
GUARD = (*_DIES, "sh", "-c", _STARTS, PARENT)
#: The words that start a guest, before its command line.
LAUNCHERS = (*_DIES, "sh", "-c", f"ulimit -c 0; {_STARTS}", PARENT)


@dataclass
class Console:
    """The guest's console output. If it is very long, only the beginning and the end are kept."""

    _kept: bytearray = field(default_factory=bytearray)

    def add(self, data: bytes) -> None:
        """Append output, and drop the middle if there is too much."""
        self._kept += data
        if len(self._kept) > 2 * _MAX_CONSOLE_BYTES:
            del self._kept[_MAX_CONSOLE_BYTES // 2 : -_MAX_CONSOLE_BYTES // 2]

    @property
    def text(self) -> str:
        """The output that was kept, with plain line ends."""
        return self._kept.decode("utf-8", errors="replace").replace("\r\n", "\n")

    def tail(self, lines: int) -> str:
        """Return the last lines that are not blank."""
        return "\n".join([line for line in self.text.splitlines() if line.strip()][-lines:])


class Tracer(Protocol):
    """Traces the start of a guest."""

    def prepare(self) -> None:
        """Run in the child, before it executes its first program."""

    def follow(self, pid: int) -> None:
        """Run in the thread that started the child, once it has executed its first program."""


@contextlib.contextmanager
def _pin(cpus: Collection[int]) -> Iterator[None]:
    """Run this thread, and the processes that it starts meanwhile, on ``cpus``.

    A program that does this would take longer to start.
    """
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class GuestProcess:
    """A running guest. Use it as a context manager, which kills the guest at its end."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cpus: Collection[int],
        folder: Path,
        environment: Mapping[str, str],
        passed: Sequence[int] = (),
        tracer: Tracer | None = None,
    ) -> None:
        """Start ``command`` on ``cpus`` in ``folder``, with the open descriptors ``passed``.

        :raises MissingError: if this machine lacks a program that starts it.
        """
        self.console = Console()
        try:
            with _pin(cpus):
                self._process = subprocess.Popen(
                    [*(str(os.getpid()) if word is PARENT else word for word in LAUNCHERS), *command],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    cwd=folder,
                    env=environment,
                    start_new_session=True,
                    pass_fds=passed,
                    preexec_fn=tracer.prepare if tracer else None,
                )
                if tracer:
                    tracer.follow(self._process.pid)
        except FileNotFoundError as error:
            hint = "sudo apt-get install util-linux"
            raise MissingError(f"this machine has no '{error.filename}'", hint=hint) from error
        assert self._process.stdout is not None
        self._output, self._output_ended = self._process.stdout.fileno(), False
        self._pidfd = os.pidfd_open(self._process.pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        assert self._process.stdout is not None
        self._process.stdout.close()
        os.close(self._pidfd)

    def wait(self, seconds: float, *, stop: int | None = None, also: Sequence[int] = ()) -> bool:
        """Wait until the machine is off; return False after ``seconds``, or if ``stop`` or ``also`` is readable."""
        outputs = [] if self._output_ended else [self._output]
        watched = [self._pidfd, *outputs, *([stop] if stop is not None else []), *also]
        ready, _, _ = select.select(watched, [], [], seconds)
        if self._pidfd in ready:  # first, because the pipe of an exited process stays readable
            self._process.wait()
            self._drain()
            return True
        if self._output in ready:
            data = os.read(self._output, 1 << 16)
            # The process closes it some time before it is gone; until then it would be readable all the time.
            self._output_ended = not data
            self.console.add(data)
        return False

    @property
    def status(self) -> int | None:
        """The exit status of the process, negative for a signal; None while it runs."""
        return self._process.returncode

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def virtual_ns(self) -> int | None:
        """Return the guest's clock, read without its help; None if that is not possible."""
        return None

    def cause_of_stall(self) -> str | None:
        """Return why the guest's time stands still, if that can be seen from outside."""
        return None

    def is_stopped(self) -> bool:
        """Return whether SIGSTOP or a debugger has stopped the process, which also stops its virtual time."""
        try:
            stat = Path(f"/proc/{self._process.pid}/stat").read_text()
        except OSError:
            return False
        return stat.rpartition(")")[2].split()[0] in ("T", "t")

    def pause(self) -> None:
        """Stop the process. The guest does not notice, since its clock is virtual."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Continue the process after `pause`."""
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill every process of the machine."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._drain()

    def _drain(self) -> None:
        os.set_blocking(self._output, False)
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._output, 1 << 16):
                self.console.add(data)


# Detects labs to terminate: the virtual clock has stopped, or has run far past the end of the plan.
#
# In virtual time, a program that polls without sleeping stops the clock forever, and a guest whose process 1 waits for
# an event that never happens lets it race ahead. Reading the clock from outside from time to time reveals both.

#: A longer interval between two checks counts only this much: the watching process and the lab may have been stopped.
MAX_CHECK_SECONDS = 1.0
#: Virtual time that a guest can use for set-up, and for counters after the last deadline.
ALLOWANCE_NS = 120 * 10**9


@dataclass
class Watchdog:
    """Judges a lab by pairs of wall and virtual time.

    Wall time is monotonic and counts only while the lab could run.
    """

    deadline_ns: int
    stall_seconds: float = DEFAULT_STALL_SECONDS
    _last_ns: int = field(default=-1, init=False)
    _moved_at: float = field(default=0.0, init=False)

    def check(
        self, *, wall_seconds: float, virtual_ns: int, cause: Callable[[], str | None] = lambda: None
    ) -> str | None:
        """Return the reason to terminate the lab, else None; ``cause`` is asked why a clock stopped."""
        if virtual_ns != self._last_ns:
            self._last_ns, self._moved_at = virtual_ns, wall_seconds
        if virtual_ns > self.deadline_ns + ALLOWANCE_NS:
            return f"the guest was still running at {virtual_ns / 1e9:.0f} s of virtual time, long after the plan's end"
        if wall_seconds - self._moved_at > self.stall_seconds:
            usual = "a program in the guest computes or polls without sleeping, or the kernel hangs"
            why = cause() or usual
            return f"virtual time has stopped at {virtual_ns / 1e9:.6f} s for {self.stall_seconds:g} s: {why}"
        return None


class StreamPump(Protocol):
    """Carries a program's streams while its lab runs."""

    @property
    def watched_descriptors(self) -> list[int]:
        """The descriptors to poll."""
        ...

    def step(self) -> bool:
        """Carry the available data; return True if the lab must wait for this side."""
        ...

    def finish(self) -> None:
        """Carry the remaining data after the end of the lab."""
        ...


def watch(
    machine: GuestProcess,
    watchdog: Watchdog | None,
    poll_seconds: float,
    stop: int | None,
    pump: StreamPump | None = None,
) -> str | None:
    """Watch a machine until it is off; return the reason if it must be terminated.

    :raises RunInterruptedError: if ``stop`` becomes readable.
    """
    checked, running, paused = time.monotonic(), 0.0, False
    while not machine.wait(poll_seconds, stop=stop, also=pump.watched_descriptors if pump else ()):
        if stop is not None and select.select([stop], [], [], 0)[0]:
            raise RunInterruptedError("interrupted")
        waits = pump.step() if pump else False
        if waits != paused:
            paused = waits
            (machine.pause if paused else machine.resume)()
        now = time.monotonic()
        if pump is None and now - checked < poll_seconds:  # it has printed a line on its console
            continue
        # Between two checks this process may have been stopped, and the lab with it.
        running += 0.0 if paused or machine.is_stopped() else min(now - checked, MAX_CHECK_SECONDS)
        checked, virtual_ns = now, machine.virtual_ns()
        if watchdog is None or virtual_ns is None:
            continue
        problem = watchdog.check(wall_seconds=running, virtual_ns=virtual_ns, cause=machine.cause_of_stall)
        if problem:
            return problem
    return None
