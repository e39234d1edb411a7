# SPDX-License-Identifier: MIT
"""Runs other programs with their output in a log, and terminates their process groups, so that none outlives us."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TextIO

from mptcplab.errors import LabError, MissingError, try_each

PATIENCE_S = 5.0


class CommandError(LabError):
    """A program failed with a status other than 0; its output is in the log."""


class CommandKilledError(CommandError):
    """A signal terminated the program, perhaps while it was writing a file."""


def run_logged(
    command: Sequence[str],
    *,
    log: TextIO,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    on_line: Callable[[str], None] | None = None,
    limit_s: float | None = None,
) -> None:
    """Run `command` with its output and errors written to `log`, for at most `limit_s` seconds.

    `on_line` receives each line as it arrives. Whatever interrupts the wait (Ctrl-C, SIGTERM, an error in `on_line`)
    terminates the command's whole process group.
    :raises CommandError: if the command fails, or reaches the limit.
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
        # A separate process group: make has children that must end with it.
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        with _limit_time(process, limit_s) as overdue:
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
    if overdue.is_set():
        raise CommandError(f"{command[0]} did not end within {limit_s:g} s", hint=shlex.join(command))
    if status < 0:
        raise CommandKilledError(f"{command[0]} was terminated by signal {-status}", hint=shlex.join(command))
    if status != 0:
        raise CommandError(f"{command[0]} failed with status {status}", hint=shlex.join(command))


def capture(command: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
    """Return the standard output of a short command. :raises CommandError: with its last error line."""
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
        lines = done.stderr.strip().splitlines()
        cause = f": {lines[-1]}" if lines else ""
        message = f"{command[0]} failed with status {done.returncode}{cause}"
        raise CommandError(message, hint=shlex.join(command))
    return done.stdout


@contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP like Ctrl-C while inside, so that cleanup happens.

    Outside the main thread, where Python cannot set handlers, this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    numbers = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def require_tools(packages: Mapping[str, str]) -> None:
    """Check that this machine has every program of `packages`, a mapping from program to Debian package.

    :raises MissingError: naming all missing programs.
    """
    missing = [tool for tool in packages if shutil.which(tool) is None]
    if missing:
        names = sorted({packages[tool] for tool in missing})
        raise MissingError(
            f"the kernel cannot be built without {', '.join(missing)}",
            subject=", ".join(missing),
            packages=names,
        )


@contextmanager
def _limit_time(process: subprocess.Popen[str], limit_s: float | None) -> Iterator[threading.Event]:
    """Terminate the process's group if it is still alive after `limit_s` seconds, and set the event that is yielded."""
    overdue = threading.Event()
    if limit_s is None:
        yield overdue
        return

    def end() -> None:
        overdue.set()
        _end_group(process)

    timer = threading.Timer(limit_s, end)
    timer.start()
    try:
        yield overdue
    finally:
        timer.cancel()


def _end_group(process: subprocess.Popen[str]) -> None:
    """Terminate the group, kill it if it has not ended after a while, and reap the child."""
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


# The toolchain of a kernel build: the programs it needs, and an environment that is the same everywhere.

# The Debian package of each program.
TOOLS = {
    "gcc": "gcc",
    "make": "make",
    "ld": "binutils",
    "strip": "binutils",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "patch": "patch",
    "tar": "tar",
    "xz": "xz-utils",
}

# The same inputs must give the same bytes, whoever builds them and when.
_REPRODUCIBLE = {
    "LC_ALL": "C",
    "TZ": "UTC",
    "LOCALVERSION": "",
    "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 1970",
    "KBUILD_BUILD_USER": "mptcplab",
    "KBUILD_BUILD_HOST": "mptcplab",
    "KBUILD_BUILD_VERSION": "1",
}
# Kconfig writes the versions of these tools into .config if it finds them, although UML uses neither. Names that do not
# exist make the configuration the same on all machines.
MAKE = ("make", "ARCH=um", "RUSTC=absent", "PAHOLE=absent")


def compiler_version() -> str:
    """Return the first lines of `gcc --version` and `ld --version`.

    :raises MissingError: if gcc does not find the C library's headers.
    """
    lines = [capture([tool, "--version"]).partition("\n")[0] for tool in ("gcc", "ld")]
    probe = subprocess.run(
        ["gcc", "-E", "-x", "c", "-"],
        input="#include <stdlib.h>\n",
        text=True,
        capture_output=True,
        check=False,
    )
    if probe.returncode != 0:
        raise MissingError(
            "the kernel cannot be built without the C library's headers",
            subject="headers of the C library",
            packages=("libc6-dev",),
        )
    return "; ".join(lines)


def find_missing_tools() -> list[MissingError]:
    """Return an error for each program and library that a build needs and this machine lacks."""
    errors = dict(try_each(lambda tool: require_tools({tool: TOOLS[tool]}), TOOLS))
    if not {"gcc", "ld"} & errors.keys():
        # A compiler that does not work at all is reported by the build.
        with suppress(CommandError):
            errors |= dict(try_each(lambda _: compiler_version(), ["headers"]))
    return list(errors.values())


def build_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the build. It keeps only what finds programs, so that no user's CFLAGS have effect."""
    kept = {name: environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in environ}
    return kept | _REPRODUCIBLE
