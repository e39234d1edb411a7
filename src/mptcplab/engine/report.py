# SPDX-License-Identifier: MIT
"""The report of a guest, and the reason if there is none."""

from __future__ import annotations

import json
import re
import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import mptcplab
from mptcplab.engine.process import Console, GuestProcess
from mptcplab.engine.protocol import DiskFullError, Outcome
from mptcplab.errors import LabError
from mptcplab.plan.model import Plan
from mptcplab.steps import CONNECTION_FAILED, FAILURES_END_HINT, down_since

_SHOWN_LINES = 12
_DISK_FULL = "no space left on device"
_DISK_FULL_HINT = "see `df`: results need more space; the same command continues and keeps the recorded runs"
#: For an error in a run, or while its network is set up.
PLAN_HINT = "see the plan: `mptcplab plan FILE`"
#: The words of tools/flow for connections that it lost, and for a connection that was never there.
_FAILED = re.compile(r"flow: connection (\d+) failed: ([\w-]+)")
_CONNECTION_STATUS = f" ended with status {CONNECTION_FAILED}: "
_NOT_THERE = ("unreachable", "timeout", "refused", "connect-timeout")
#: The kinds of events that take a link down and up.
_CHANGES = ("down", "up")
#: The prefix of a message on the console by the guest's first process, if it cannot write a report.
_GUEST_PREFIX = "mptcplab: "
_PRIVATE = {Path("/tmp"), Path("/run")}


def package_folder() -> Path:
    """Return the folder that contains our package, where the guest finds its program."""
    return Path(mptcplab.__file__).resolve().parent.parent


def hidden_folders(needed: Iterable[Path]) -> tuple[Path, ...]:
    """Return our own folders and the ``needed`` folders that the guest's private /tmp and /run would hide."""
    folders = [package_folder(), Path(sys.base_prefix).resolve(), *(folder.resolve() for folder in needed)]
    return tuple(folder for folder in dict.fromkeys(folders) if _PRIVATE & set(folder.parents))


def read_report(
    folder: Path, machine: GuestProcess, verdict: str | None, *, hint: str | None, plan: Plan | None = None
) -> dict[str, Any]:
    """Return the guest's report. :raises LabError: if there is none, or if it reports an error.

    ``hint`` is for errors that have no hint of their own. With a ``plan``, the error of a connection that was never
    there names the links that were down.
    """
    if verdict is None:
        try:
            report: dict[str, Any] = json.loads((folder / "guest.json").read_text())
        except (OSError, ValueError):
            verdict = _death(machine)
        else:
            if "error" not in report:
                return report
            raise _make_error(report, hint, plan)
    if _DISK_FULL in verdict:
        raise DiskFullError(verdict, hint=_DISK_FULL_HINT)
    raise LabError(verdict, hint=f"the console ended with:\n{_indent_console(machine.console)}")


def read_outcome(folder: Path, machine: GuestProcess, verdict: str | None, plan: Plan, *, started: float) -> Outcome:
    """Return the outcome of ``plan``, which began at the instant ``started``.

    :raises LabError: if the guest wrote no report, or if it reports an error.
    """
    report = read_report(folder, machine, verdict, hint=PLAN_HINT, plan=plan)
    return Outcome(report["programs"], report["zero_ns"], report["virtual_ns"], time.monotonic() - started)


def _make_error(report: dict[str, Any], hint: str | None, plan: Plan | None) -> LabError:
    message = str(report["error"])
    if "traceback" in report:
        return LabError(message, hint=f"report this with the lines below\n{report['traceback']}")
    if _DISK_FULL in message.lower():
        return DiskFullError(message, hint=_DISK_FULL_HINT)
    failed = _FAILED.findall(message)
    if failed and _CONNECTION_STATUS in message:
        # The last words of a program that lost many connections at once begin in the middle of a word.
        number, why = failed[0]
        more = f", and {len(failed) - 1} more" if len(failed) > 1 else ""
        message = f"{message.partition(': ')[0]}: connection {number} failed: {why}{more}"
        hint = FAILURES_END_HINT
        if why in _NOT_THERE:
            down = _links_down(plan, message.partition(" on ")[0]) if plan is not None else []
            message += f"; down when it started: {', '.join(down)}" if down else ""
    return LabError(message, hint=report.get("hint") or hint)


def _links_down(plan: Plan, program: str) -> list[str]:
    """Return the links that ``plan`` had taken down when ``program`` started, each with the instant."""
    start_ns = next((known.start_ns for known in plan.programs if known.name == program), 0)
    changes = ((event.at_ns / 1e9, event.link, event.kind == "down") for event in plan.events if event.kind in _CHANGES)
    return [f"{link} since {since_s:g} s" for link, since_s in down_since(changes, start_ns / 1e9).items()]


def _death(machine: GuestProcess) -> str:
    """Return why the lab ended without a report."""
    for line in machine.console.text.splitlines():
        if line.startswith(_GUEST_PREFIX):
            return line.removeprefix(_GUEST_PREFIX)
        if "Kernel mode signal 7" in line:  # SIGBUS
            return "there was no space left for the lab's memory, which is in /dev/shm or TMPDIR"
        if "Kernel panic" in line:
            return f"the kernel panicked: {line.partition('not syncing: ')[2] or line}"
        if "out of memory" in line.lower():
            return "the lab ran out of memory"
    status = machine.status
    if status is None:
        return "the lab kernel ended without a result (its exit status is unknown)"
    if status == -signal.SIGKILL:
        return "the lab kernel was killed (SIGKILL), by a user or because this machine ran out of memory"
    cause = f"status {status}" if status >= 0 else f"signal {signal.Signals(-status).name}"
    return f"the lab kernel ended without a result ({cause})"


def _indent_console(console: Console) -> str:
    return "\n".join(f"  {line}" for line in console.tail(_SHOWN_LINES).splitlines()) or "  (nothing)"
