# SPDX-License-Identifier: MIT
"""Connections by the `ssh` program, with the user's configuration, keys and agent; several share one connection.

A process of `ssh` ends with the thread that started it, by SIGKILL. So no connection outlives a killed command.
"""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from mptcplab.engine.process import GUARD, PARENT
from mptcplab.errors import LabError, MissingError
from mptcplab_ssh.inventory import MachineInventory

#: What to do after a machine has failed.
AGAIN = "look at the machine, and run the same command again: it puts itself back when its lease ends"
#: A server is asked after this time without data, and is gone after this number of questions without an answer:
#: within 12 s, and with a long lease, by which a user says that a machine is slow, within half of it.
_ALIVE_SECONDS, _MIN_ALIVE_COUNT = 3, 4
_OPTIONS = {
    "BatchMode": "yes",
    "ConnectTimeout": "10",
    "ServerAliveInterval": str(_ALIVE_SECONDS),
    "ForwardAgent": "no",
    "ForwardX11": "no",
    "ClearAllForwardings": "yes",
    "PermitLocalCommand": "no",
    "RequestTTY": "no",
    "EscapeChar": "none",
}
_OPEN_SECONDS = 30.0
#: The time for a machine's answer, at least and in leases: a long one says that the machine is slow.
_ANSWER_SECONDS, _ANSWER_LEASES = 60.0, 3
_POLL_SECONDS = 0.05


class SshConnection:
    """A connection to one machine. Use it as a context manager, in the thread that outlives all uses."""

    def __init__(self, node: str, inventory: MachineInventory, *, folder: Path, wait: Callable[[], None]) -> None:
        """Connect to the machine of ``node``. ``folder`` gets the shared socket; ``wait`` is called while waiting, and
        may raise.

        :raises LabError: if it cannot be reached. :raises MissingError: if this machine has no ssh.
        """
        self.node, self.machine = node, inventory.nodes[node]
        self._folder, self._config = folder, inventory.ssh_config
        self.answer_seconds = max(_ANSWER_SECONDS, _ANSWER_LEASES * int(inventory.lease) / 10**9)
        self._alive_count = max(_MIN_ALIVE_COUNT, int(inventory.lease) // (2 * _ALIVE_SECONDS * 10**9))
        # A relative path: a socket's path may have only about a hundred characters.
        self._socket = f"{node[:24]}.ssh"
        self._errors = folder / f"{node}.err"
        self._started: list[subprocess.Popen[bytes]] = []
        try:
            self._open(wait)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End everything that was started here."""
        for process in reversed(self._started):
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()
        self._started.clear()

    @property
    def place(self) -> str:
        """Node and host, for messages."""
        return f"{self.node} ({self.machine.host})"

    def _open(self, wait: Callable[[], None]) -> None:
        with self._errors.open("wb") as errors:
            master = self._start(["-M", "-N"], "", errors=errors.fileno())
        end = time.monotonic() + _OPEN_SECONDS
        while not (self._folder / self._socket).exists():
            wait()
            if master.poll() is not None or time.monotonic() > end:
                lines = self._errors.read_text(errors="replace").strip().splitlines()
                text = lines[-1].strip() if lines else f"no answer within {_OPEN_SECONDS:g} s"
                trial = shlex.join(["ssh", *self._choice(), self.machine.host, "true"])
                hint = f"this must work without a question: {trial}"
                raise LabError(f"the machine {self.place} cannot be reached: {text}", hint=hint)
            time.sleep(_POLL_SECONDS)

    def _choice(self) -> list[str]:
        return ["-F", self._config] if self._config else []

    def _words(self, options: Sequence[str], command: str) -> list[str]:
        named = [word for key, value in _OPTIONS.items() for word in ("-o", f"{key}={value}")]
        named += ["-o", f"ServerAliveCountMax={self._alive_count}"]
        words = ["ssh", *self._choice(), *named, "-o", f"ControlPath={self._socket}", *options]
        return [*words, "--", self.machine.host, *([command] if command else [])]

    def _start(self, options: Sequence[str], command: str, *, errors: int) -> subprocess.Popen[bytes]:
        guard = [str(os.getpid()) if word is PARENT else word for word in GUARD]
        try:
            process = subprocess.Popen(
                [*guard, *self._words(options, command)],
                stdin=subprocess.PIPE if command else subprocess.DEVNULL,
                stdout=subprocess.PIPE if command else errors,
                stderr=errors,
                cwd=self._folder,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            hint = "sudo apt-get install util-linux openssh-client"
            raise MissingError(f"this machine has no '{error.filename}'", hint=hint) from error
        self._started.append(process)
        return process

    def session(self, command: str) -> subprocess.Popen[bytes]:
        """Start ``command`` there, with pipes to its standard input and output."""
        with self._errors.open("ab") as errors:
            return self._start([], command, errors=errors.fileno())

    def run(self, script: str, *, data: bytes | None = None, seconds: float = 0.0) -> bytes:
        """Run a shell script there and return its output; with ``data``, the script reads it as standard input.

        May be called from any thread. :raises LabError: if it fails or takes longer than ``seconds``, at least
        ``answer_seconds``.
        """
        seconds = max(seconds, self.answer_seconds)
        command = "sh -s" if data is None else f"sh -c {shlex.quote(script)}"
        try:
            done = subprocess.run(
                self._words(["-o", "ControlMaster=no"], command),
                input=script.encode() if data is None else data,
                capture_output=True,
                cwd=self._folder,
                timeout=seconds,
                start_new_session=True,
            )
        except subprocess.TimeoutExpired as error:
            raise LabError(f"the machine {self.place} did not answer within {seconds:g} s", hint=AGAIN) from error
        if done.returncode:
            lines = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
            text = lines[-1] if lines else f"status {done.returncode}"
            raise LabError(f"a command on {self.place} failed: {text}", hint=AGAIN)
        return done.stdout

    @property
    def messages(self) -> str:
        """What `ssh` and the commands of sessions printed as errors."""
        return self._errors.read_text(errors="replace") if self._errors.is_file() else ""


class Lines:
    """The lines that a process prints, as they come."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        self.descriptor = process.stdout.fileno()
        self._rest = b""
        self.is_over = False

    def read(self) -> list[str]:
        """Return the lines that have come since; call it when the descriptor is readable."""
        if not select.select([self.descriptor], [], [], 0)[0]:
            return []
        data = os.read(self.descriptor, 1 << 16)
        self.is_over = not data
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [line.decode(errors="replace") for line in lines]
