# SPDX-License-Identifier: MIT
"""Run other programs so that nothing of them outlives us: output to a log, groups ended as a whole."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TextIO

from mptcplab.errors import LabError, MissingError

PATIENCE_S = 5.0


class CommandError(LabError):
    """A program ended with another status than 0; its output is in the log."""


class CommandKilledError(CommandError):
    """A signal ended the program, in the middle of something."""


def run_logged(
    command: Sequence[str],
    *,
    log: TextIO,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    on_line: Callable[[str], None] | None = None,
) -> None:
    """Run `command` with both its outputs to `log`; raise CommandError when it fails.

    `on_line` sees each line as it comes. Whatever ends the wait early (Ctrl-C,
    SIGTERM, an error in `on_line`) ends the command's whole process group.
    """
    log.write(f"$ {shlex.join(command)}\n")
    log.flush()
    process = subprocess.Popen(
        list(command),
        cwd=cwd,
        env=None if env is None else dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        # Its own group: make has children, and they must end with it.
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            log.write(line)
            if on_line is not None:
                on_line(line)
        status = process.wait()
    except BaseException:
        _end_group(process)
        raise
    finally:
        log.flush()
    if status < 0:
        raise CommandKilledError(f"{command[0]} was ended by signal {-status}", hint=shlex.join(command))
    if status != 0:
        raise CommandError(f"{command[0]} failed with status {status}", hint=shlex.join(command))


def capture(command: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
    """The standard output of a short command; raises CommandError with its last error line."""
    done = subprocess.run(
        list(command),
        cwd=cwd,
        env=None if env is None else dict(env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        because = f": {said[-1]}" if said else ""
        message = f"{command[0]} failed with status {done.returncode}{because}"
        raise CommandError(message, hint=shlex.join(command))
    return done.stdout


@contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP like Ctrl-C meanwhile, so that cleaning up happens.

    Outside the main thread Python cannot set handlers; there it does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    wanted = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, interrupt) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def require_tools(packages: Mapping[str, str]) -> None:
    """Raise MissingError naming every program of `packages` (program to Debian package) that is not there."""
    missing = [tool for tool in packages if shutil.which(tool) is None]
    if missing:
        wanted = sorted({packages[tool] for tool in missing})
        raise MissingError(
            f"the kernel cannot be built without {', '.join(missing)}",
            hint=f"sudo apt-get install {' '.join(wanted)}",
        )


def _end_group(process: subprocess.Popen[str]) -> None:
    """Ask the group to end, insist after a while, and collect the child."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            process.wait(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            continue
    process.wait()
