# SPDX-License-Identifier: MIT
"""Runs programs on a timeline: servers before time zero, clients at their instants, beside a sampler.

It needs no polling and no margins. Virtual time stops while any process can run. Therefore, after this process has
slept and woken, every server that was started before is waiting for its clients.
"""

from __future__ import annotations

import os
import time

from mptcplab.guest import instants, system
from mptcplab.guest.changes import Changes
from mptcplab.guest.nodes import GuestError, Nodes
from mptcplab.guest.sampler import Sampler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from signal import SIG_BLOCK, SIGCHLD, SIGKILL, SIGTERM, pthread_sigmask, sigtimedwait
    from typing import Any

else:
    from _signal import (  # `signal` around it loads slowly
        SIG_BLOCK,
        SIGCHLD,
        SIGKILL,
        SIGTERM,
        pthread_sigmask,
        sigtimedwait,
    )

_SECOND = 1_000_000_000
#: Time zero after boot: later than any set-up takes, so that it does not depend on the network's size.
_ZERO_NS = 10 * _SECOND
#: Time for the sampler to begin its first sleep. It draws random numbers until then, which servers must not notice.
_SAMPLER_NS = 10_000_000
_WAKE = {SIGCHLD}
#: The time for servers to notice that their clients have exited, and then to obey SIGTERM.
_GRACE_NS = _SECOND
_MAX_MESSAGE_CHARS = 300


class _ProgramState:
    """A program with its start, end and status; times count from time zero."""

    def __init__(self, program: dict[str, Any], pid: int, start_ns: int) -> None:
        self.program, self.pid, self.start_ns = program, pid, start_ns
        self.end_ns: int | None = None
        self.status: int | None = None
        self.stopped = False

    @property
    def is_client(self) -> bool:
        return bool(self.program["role"] == "client")

    @property
    def failed_status(self) -> int | None:
        """The status with which it ended by itself, if that fails the run."""
        accepted = (0, *self.program.get("accepted_statuses", ()))
        return None if self.stopped or self.status in accepted else self.status


class Timeline:
    """Runs the programs of one plan, its events and its sampler."""

    def __init__(self, nodes: Nodes, plan: dict[str, Any], out: str) -> None:
        self._nodes, self._plan, self._out = nodes, plan, out
        self.zero_ns = 0
        self._programs: list[_ProgramState] = []
        self.sampler = Sampler(nodes, plan)
        self.changes = Changes(nodes, plan["events"])

    def run(self) -> list[dict[str, Any]]:
        """Run everything; return one record per program. :raises GuestError: if a program fails or is late."""
        pthread_sigmask(SIG_BLOCK, _WAKE)
        now = instants.sleep_to_next(_SECOND)
        self.zero_ns = (now // _ZERO_NS + 1) * _ZERO_NS
        self.sampler.start(self.zero_ns)
        instants.sleep_until(now + _SAMPLER_NS)
        instants.reseed()
        try:
            for program in self._plan["programs"]:
                if program["role"] == "server":
                    self._start(program)
            instants.sleep_until(self.zero_ns)
            instants.reseed()
            self._run_clients()
            self.sampler.stop()
            self._end_servers()
        finally:
            self.sampler.stop()
            self.changes.close()
            self._kill_all()
        return [self._record(running) for running in self._programs]

    def _elapsed_ns(self) -> int:
        return time.monotonic_ns() - self.zero_ns

    def _sleep_until(self, instant_ns: int) -> None:
        """Sleep until ``instant_ns``, or until a program exits."""
        left = instant_ns - self._elapsed_ns()
        if left > 0 and sigtimedwait(_WAKE, left / _SECOND) is None:
            return
        self._reap()

    def _start(self, program: dict[str, Any]) -> None:
        name = program["name"]
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        files = [os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)]
        files += [os.open(f"{self._out}/{name}.{kind}", flags, 0o644) for kind in ("out", "err")]
        pid = self._nodes.spawn(program["node"], program["argv"], stdin=files[0], stdout=files[1], stderr=files[2])
        for file in files:
            os.close(file)
        self._programs.append(_ProgramState(program, pid, self._elapsed_ns()))

    def _run_clients(self) -> None:
        waiting = [program for program in self._plan["programs"] if program["role"] == "client"]
        waiting.sort(key=lambda program: int(program["start_ns"]))
        while waiting or self._clients():
            if self.changes.pending:
                self.changes.carry_out(self._elapsed_ns())
            while waiting and waiting[0]["start_ns"] <= self._elapsed_ns():
                self._start(waiting.pop(0))
            self._check_deadlines()
            instants = [running.program["deadline_ns"] for running in self._clients()]
            instants += [program["start_ns"] for program in waiting[:1]]
            self._sleep_until(min(*instants, self.changes.next_ns))
            self._check_failures()

    def _clients(self) -> list[_ProgramState]:
        return [running for running in self._programs if running.is_client and running.status is None]

    def _reap(self) -> None:
        """Record every child that has exited; this includes orphans of programs, since this is process 1."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self.changes.handle_exit(pid)
            self.sampler.handle_exit(pid)
            for running in self._programs:
                if running.pid == pid:
                    running.status, running.end_ns = os.waitstatus_to_exitcode(status), self._elapsed_ns()

    def _check_failures(self) -> None:
        for running in self._programs:
            status = running.failed_status
            if status is not None:
                name, node = running.program["name"], running.program["node"]
                raise GuestError(f"{name} on {node} {_end_of(status)}{self._last_message(name)}")

    def _check_deadlines(self) -> None:
        for running in self._clients():
            if self._elapsed_ns() >= running.program["deadline_ns"]:
                seconds = (running.program["deadline_ns"] - running.program["start_ns"]) / _SECOND
                raise GuestError(f"{running.program['name']} did not end within its timeout of {seconds:g} s")

    def _last_message(self, name: str) -> str:
        """Return the end of a program's standard error, or else of its standard output."""
        for kind in ("err", "out"):
            text = _tail(f"{self._out}/{name}.{kind}")
            if text:
                return f": {' '.join(text.split())[-_MAX_MESSAGE_CHARS:]}"
        return ""

    def _end_servers(self) -> None:
        for number in (None, SIGTERM):
            limit = self._elapsed_ns() + _GRACE_NS
            for running in self._alive():
                if number is not None:
                    running.stopped = True
                    os.killpg(running.pid, number)
            while self._alive() and self._elapsed_ns() < limit:
                self._sleep_until(limit)
                self._check_failures()

    def _alive(self) -> list[_ProgramState]:
        return [running for running in self._programs if running.status is None]

    def _kill_all(self) -> None:
        for running in self._alive():
            running.stopped = True
            os.killpg(running.pid, SIGKILL)
            os.waitpid(running.pid, 0)
            running.status, running.end_ns = -SIGKILL, self._elapsed_ns()

    def _record(self, running: _ProgramState) -> dict[str, Any]:
        return {
            "name": running.program["name"],
            "node": running.program["node"],
            "role": running.program["role"],
            "start_ns": running.start_ns,
            "end_ns": running.end_ns,
            "status": running.status,
            "stopped": running.stopped,
        }


def _tail(file: str) -> str:
    with open(file, "rb") as opened:
        return opened.read().decode(errors="replace").strip()


def _end_of(status: int) -> str:
    if status >= 0:
        return f"ended with status {status}"
    if status == -SIGKILL and "\noom_kill 0\n" not in system.read("/proc/vmstat"):
        return "was killed because the lab ran out of memory"
    from signal import Signals  # late, because it is large

    return f"was killed by {Signals(-status).name}"
