# SPDX-License-Identifier: MIT
"""The processes of a node: one carries events out, one reads what the kernel shows, some move data with `flow`."""

from __future__ import annotations

import random
import re
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.smp.guest.choices import CONGESTION_CONTROLS, PATHS, SCHEDULERS, TCP_PORT, address
from tests.smp.guest.events import Event, Events

#: Between two events of a node, on average; what they take comes on top.
_GAP_S = 0.04
_COMMAND_S = 20.0
_CONTROL = re.compile(rf"\b({'|'.join(sorted(CONGESTION_CONTROLS, key=len, reverse=True))})\b(?= wscale)")


def _quietly(command: Sequence[str], *, timeout_s: float) -> bool:
    """Run a command whose output nobody reads. Return whether it succeeded.

    :raises subprocess.TimeoutExpired: when it took longer and was killed.
    """
    none = subprocess.DEVNULL
    return subprocess.run(command, stdin=none, stdout=none, stderr=none, timeout=timeout_s).returncode == 0


class Server:
    """The `flow` server of a node, which an event ends and starts again."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def restart(self) -> None:
        """End the server, if there is one, with its listener and all its connections, and start another."""
        self.stop()
        command = ["flow", "server", "--mptcp", "--port", str(TCP_PORT), "--interval-ms", "0"]
        none = subprocess.DEVNULL
        self._process = subprocess.Popen(command, stdin=none, stdout=none, stderr=none)

    def stop(self) -> None:
        """End the server."""
        if self._process:
            self._process.kill()
            self._process.wait()


class Batches:
    """`ip` and `tc` that wait for commands: to start them for each would take most of an emulated CPU's time."""

    def __init__(self, folder: Path) -> None:
        self._errors = {name: folder / f"{name}.txt" for name in ("ip", "tc")}
        self._processes = {name: self._start(name, file) for name, file in self._errors.items()}

    def _start(self, name: str, errors: Path) -> subprocess.Popen[str]:
        command = [name, "-force", "-batch", "-"]
        with errors.open("w") as file:
            return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=file, text=True)

    def takes(self, command: tuple[str, ...]) -> bool:
        """Hand `command` over, if it is one of these; it may be carried out a little later."""
        process = self._processes.get(command[0])
        if process is None or process.stdin is None:
            return False
        process.stdin.write(" ".join(command[1:]) + "\n")
        process.stdin.flush()
        return True

    def end(self) -> dict[str, int]:
        """Let them come to their ends. Return how many commands of each were not possible."""
        for process in self._processes.values():
            try:
                process.communicate(timeout=_COMMAND_S)
            except subprocess.TimeoutExpired:
                # On a busy machine it may be many commands behind.
                process.kill()
        failed = {name: file.read_text().count("Command failed") for name, file in self._errors.items()}
        return {f"not possible: {name}": count for name, count in failed.items() if count}


def _carry_out(event: Event, server: Server, batches: Batches) -> bool:
    """Do what `event` says. Return False if something was not possible that is known at once."""
    fine = True
    for file, text in event.writes:
        try:
            Path("/proc/sys", file).write_text(text + "\n")
        except OSError:
            fine = False
    for command in event.commands:
        try:
            fine &= batches.takes(command) or _quietly(command, timeout_s=_COMMAND_S)
        except subprocess.TimeoutExpired:
            fine = False
    if event.restarts:
        server.restart()
    return fine


def disturb(seed: int, node: str, until: float) -> dict[str, int]:
    """Carry random events out. Return how many of each kind there were, and how many were not possible."""
    done, server, batches = Counter[str](), Server(), Batches(Path(tempfile.mkdtemp(dir="/run")))
    if node == "server":
        server.restart()
    for gap, event in Events(seed, node):
        if time.monotonic() > until:
            break
        time.sleep(gap * _GAP_S)
        if not _carry_out(event, server, batches):
            done[f"not possible: {event.kind}"] += 1
        done[f"event: {event.kind}"] += 1
    server.stop()
    done.update(batches.end())
    return dict(done)


def _text(file: str) -> str:
    """Return what the kernel shows in `file`; nothing if it is a plain one, which does not have it."""
    try:
        return Path(file).read_text()
    except FileNotFoundError:
        return ""


def watch(until: float) -> dict[str, int]:
    """Read what the kernel shows of connections. Return on how many of them each algorithm was seen."""
    seen = Counter[str]()
    while time.monotonic() < until:
        for line in _text("/proc/net/mptcp_schedulers").splitlines():
            seen[f"seen: scheduler {line.split()[1]}"] += 1
        _text("/proc/net/mptcp_coupled")
        _text("/proc/sys/net/mptcp/scheduler_weights")
        for command in (["ss", "-tinH"], ["ss", "-iMnH"], ["nstat", "-az"]):
            try:
                printed = subprocess.run(command, capture_output=True, text=True, timeout=_COMMAND_S).stdout
            except subprocess.TimeoutExpired:
                seen[f"not ended after {_COMMAND_S:.0f} s: {command[0]}"] += 1
                continue
            for name in _CONTROL.findall(printed):
                seen[f"seen: congestion control {name}"] += 1
        seen["readings"] += 1
        time.sleep(1.0)
    return dict(seen)


def _client(chance: random.Random) -> list[str]:
    six = chance.random() < 0.3
    command = ["flow", "client", "--mptcp", "--connect", address("server", chance.choice(PATHS), six=six)]
    command += ["--port", str(TCP_PORT), "--connections", str(chance.choice((1, 1, 2, 4))), "--interval-ms", "0"]
    command += ["--connect-timeout-ms", "3000"]
    if chance.random() < 0.5:
        command += ["--seconds", f"{chance.uniform(0.5, 10):.3f}"]
    else:
        command += ["--bytes", str(int(10 ** chance.uniform(2, 6.5)))]
    if chance.random() < 0.5:
        command += ["--download"]
    if chance.random() < 0.7:
        command += ["--congestion", chance.choice(CONGESTION_CONTROLS), "--scheduler", chance.choice(SCHEDULERS)]
    for option in ("--sndbuf", "--rcvbuf"):
        if chance.random() < 0.3:
            command += [option, chance.choice(("20000", "60000", "200000"))]
    return command


def transfer(seed: int, number: int, until: float) -> dict[str, int]:
    """Run one `flow` client after the other, and kill some. Return how many connections there were."""
    chance, done = random.Random(f"{seed} transfer {number}"), Counter[str]()
    while time.monotonic() < until:
        command = _client(chance)
        patience_s = chance.uniform(0.2, 12.0)
        done["connections: flow"] += int(command[command.index("--connections") + 1])
        try:
            well = _quietly(command, timeout_s=patience_s)
            done[f"flow clients that {'ended well' if well else 'failed'}"] += 1
        except subprocess.TimeoutExpired:
            done["flow clients that were killed"] += 1
        time.sleep(0.02)
    return dict(done)
