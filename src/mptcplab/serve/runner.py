# SPDX-License-Identifier: MIT
"""Runs one experiment at a time, as the command that a user would type, and says how far it is.

The command runs in a process group of its own. It ends when it is cancelled, when the server ends, and, by the kernel's
own signal, when the server is killed.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from mptcplab.errors import InputError, LabError
from mptcplab.figure.rates import coarsen, stack
from mptcplab.figure.timelines import timelines
from mptcplab.lazy import module_environment
from mptcplab.metrics.manifest import read_label
from mptcplab.metrics.stored import WRONG, StoredResults
from mptcplab.metrics.values import short_names
from mptcplab.recording.record import Recording
from mptcplab.stats import Interval, mean_interval

# What the page shows of results: the rate of each workload over time, run by run, and the means in the end.

_MAX_VALUES = 160


@dataclass(frozen=True)
class Curve:
    """Mbit/s of one workload of one run, from each of ``times`` (s) to the next. Curves of a ``group`` look alike."""

    group: str
    seed: int
    times: tuple[float, ...]
    values: tuple[float, ...]

    def to_json(self) -> dict[str, Any]:
        """Return JSON data for the page's script."""
        return asdict(self)


def read_curves(folder: Path) -> list[Curve]:
    """Return the curves of a recording; none if it cannot be read, or has no samples."""
    try:
        recording = Recording(folder)
        settings = dict(read_label(recording).settings)
        curves = []
        for timeline in map(coarsen, timelines(recording, max_values=_MAX_VALUES)):
            if len(timeline.edges) > 1 and timeline.received:
                rates, _ = stack(timeline)
                group = _label(settings, timeline.workload)
                values = tuple(round(float(rate), 3) for rate in rates)
                curves.append(Curve(group, read_label(recording).seed, timeline.edges, values))
    except (LabError, OSError, KeyError, TypeError, ValueError):
        return []
    return curves


def read_rows(folder: Path) -> list[tuple[str, str, str]]:
    """Return the goodput of each point and workload in a results folder: its name, mean and interval, and runs."""
    try:
        rows = StoredResults.read(folder / "results.json").rows
    except (OSError, *WRONG):
        return []
    return [
        (_label(row.settings, row.workload), _interval_text(mean_interval(list(values.values()))), str(len(values)))
        for row in rows
        for values in row.values_of("goodput_mbps").values()
    ]


def _interval_text(interval: Interval) -> str:
    """Return a mean with the half width of its interval, which one run does not have."""
    half = interval.half_width
    return f"{interval.mean:.4g}" + (f" ± {half:.2g}" if half is not None else "")


def _label(settings: Mapping[str, str], workload: str) -> str:
    """Return the name of a workload at a point of the sweep."""
    names = short_names(list(settings))
    return ": ".join(filter(None, [", ".join(f"{names[key]} {value}" for key, value in settings.items()), workload]))


#: What `mptcplab run` prints at the end of each run, see cli/progress.py.
_PROGRESS = re.compile(r"^(done|recorded|failed)  .*\((\d+) of (\d+)")
_MAX_LINES, _MAX_CURVES = 12, 60
#: `mptcplab run` gets this long to end its labs.
_PATIENCE_S = 15.0
_IDLE, _RUNNING, _DONE, _FAILED, _CANCELLED = "idle", "running", "done", "failed", "cancelled"


@dataclass(frozen=True)
class RunnerState:
    """The progress of the experiment. ``version`` grows with every change; ``number`` counts experiments."""

    version: int = 0
    number: int = 0
    status: str = _IDLE
    command: str = ""
    title: str = ""
    folder: Path | None = None
    done: int = 0
    total: int = 0
    lines: tuple[str, ...] = ()
    curves: tuple[Curve, ...] = ()
    rows: tuple[tuple[str, str, str], ...] = ()

    @property
    def is_running(self) -> bool:
        """True if a process exists."""
        return self.status == _RUNNING

    def to_json(self) -> dict[str, Any]:
        """Return JSON data for the page's script, without curves."""
        return {
            "number": self.number,
            "status": self.status,
            "done": self.done,
            "total": self.total,
            "lines": list(self.lines),
            "rows": list(self.rows),
        }


class Runner:
    """Starts and ends the experiment. All methods can be called from any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._state = RunnerState()
        self._process: subprocess.Popen[str] | None = None
        self._thread: threading.Thread | None = None
        self._cancelled = False
        self._closed = False

    @property
    def state(self) -> RunnerState:
        """The present state."""
        with self._changed:
            return self._state

    def wait(self, version: int, seconds: float) -> RunnerState:
        """Return the state when it is newer than ``version``, or after ``seconds``."""
        with self._changed:
            self._changed.wait_for(lambda: self._state.version != version or self._closed, seconds)
            return self._state

    @property
    def is_closed(self) -> bool:
        """True if the server ends, so that nobody should wait for changes."""
        return self._closed

    def start(self, words: Sequence[str], folder: Path, *, command: str, title: str, total: int) -> None:
        """Start ``mptcplab WORDS`` with ``folder`` for its results. :raises InputError: if one is running."""
        with self._changed:
            if self._closed or self._state.is_running:
                raise InputError("an experiment is running", hint="wait for its end, or cancel it")
            self._cancelled = False
            self._set(
                number=self._state.number + 1,
                status=_RUNNING,
                command=command,
                title=title,
                folder=folder,
                done=0,
                total=total,
                lines=(),
                curves=(),
                rows=(),
            )
            argv = [sys.executable, "-m", "mptcplab", *words, "--out", str(folder)]
            # The kernel's signal comes when the thread that started the process ends: this one waits for it.
            self._thread = threading.Thread(target=self._run, args=(argv, folder), name="experiment", daemon=True)
            self._thread.start()

    def cancel(self) -> None:
        """End the experiment, if one is running. Runs that are finished stay recorded."""
        with self._changed:
            self._cancelled = True
            process = self._process
        if process is not None:
            _signal_group(process, signal.SIGTERM)

    def close(self) -> None:
        """End the experiment and wait until its processes are gone; nothing can be started afterwards."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            thread = self._thread
        self.cancel()
        if thread is not None:
            thread.join(_PATIENCE_S)
            if thread.is_alive() and self._process is not None:
                _signal_group(self._process, signal.SIGKILL)
                thread.join(_PATIENCE_S)

    def _run(self, argv: Sequence[str], folder: Path) -> None:
        try:
            process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "TERM", *argv],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                env=module_environment(),
                start_new_session=True,
            )
        except OSError as error:
            self._add_line(f"the experiment cannot be started: {error.strerror}", list)
            with self._changed:
                self._set(status=_FAILED)
            return
        with self._changed:
            self._process = process
            cancelled = self._cancelled
        if cancelled:
            _signal_group(process, signal.SIGTERM)
        known: set[Path] = set()
        try:
            assert process.stderr is not None
            for line in process.stderr:
                self._add_line(line.rstrip(), lambda: _new_curves(folder, known))
        finally:
            # As long as the command is not reaped, the number of its group cannot be another's.
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            _signal_group(process, signal.SIGKILL)
            status = _DONE if process.wait() == 0 else _FAILED
            rows = tuple(read_rows(folder)) if status == _DONE else ()
            with self._changed:
                self._process = None
                curves = (*self._state.curves, *_new_curves(folder, known))[:_MAX_CURVES]
                self._set(status=_CANCELLED if self._cancelled else status, curves=curves, rows=rows)

    def _add_line(self, line: str, new_curves: Callable[[], list[Curve]]) -> None:
        match = _PROGRESS.match(line)
        curves = new_curves() if match else []
        with self._changed:
            if match:
                self._set(done=int(match[2]), total=int(match[3]))
            self._set(
                lines=(*self._state.lines, line)[-_MAX_LINES:],
                curves=(*self._state.curves, *curves)[:_MAX_CURVES],
            )

    def _set(self, **changes: Any) -> None:
        """Change the state, with the lock held."""
        self._state = replace(self._state, version=self._state.version + 1, **changes)
        self._changed.notify_all()


def _new_curves(folder: Path, known: set[Path]) -> list[Curve]:
    """Return the curves of recordings that are not ``known`` yet, and add them to the known ones."""
    new = sorted(file.parent for file in folder.glob("runs/*/manifest.json") if file.parent not in known)
    known.update(new)
    return [curve for place in new for curve in read_curves(place)]


def _signal_group(process: subprocess.Popen[str], number: signal.Signals) -> None:
    """Send a signal to the process group of a command; it may be gone."""
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        return
