# SPDX-License-Identifier: MIT
"""Run an experiment: every run once, several at a time, nothing twice, nothing lost.

Several commands may work in one results folder at the same time: a run that another one is making is put off, and is
there when its turn comes again. Of every finished run only what its table needs stays in memory.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from mptcplab.campaign.record import Engines, Executor, LocalExecutor, RunDuration, labels, prepare_engines, prepare_job
from mptcplab.campaign.store import Store
from mptcplab.engine.protocol import RunInterruptedError
from mptcplab.engine.stop import Stop
from mptcplab.errors import LabError, reason
from mptcplab.metrics.rows import RunResult, run_result
from mptcplab.recording.record import Recording, is_complete, relabelled
from mptcplab.scenario.load import Run

__all__ = ["CompletedRun", "Lab", "Stop", "prepare_engines"]

_LOOK_SECONDS = 0.5
#: How long to leave a run alone that another command is making.
_PUT_OFF_SECONDS = 0.2


@dataclass(frozen=True)
class CompletedRun:
    """One run with its recording and what was measured, or why there is none.

    ``wall_seconds`` is from its beginning to the end of its measurement, and None when the recording was there
    already; ``virtual_ns`` counts from the plan's time zero.
    """

    run: Run
    folder: Path | None = None
    result: RunResult | None = None
    error: LabError | None = None
    wall_seconds: float | None = None
    virtual_ns: int = 0

    @property
    def recording(self) -> Recording | None:
        """Read anew with every use: thousands of open recordings would fill the memory."""
        return Recording(self.folder) if self.folder is not None else None


class Lab:
    """Executes runs into one results folder. ``engines`` are all that the runs ask for.

    With ``fresh``, recordings that are there already are made again. ``executor`` is where; None is this machine.
    """

    def __init__(
        self,
        engines: Engines,
        out: Path,
        *,
        stop: Stop,
        fresh: bool = False,
        executor: Executor | None = None,
    ) -> None:
        self._engines, self._stop, self._fresh = engines, stop, fresh
        engines.check_folder(out.resolve())
        self._store = Store(out)
        self._executor = executor or LocalExecutor(self._engines)
        self._met: set[str] = set()
        self._met_lock = threading.Lock()

    def execute(
        self,
        runs: Iterable[Run],
        *,
        jobs: int,
        progress: Callable[[CompletedRun], None],
        more: Callable[[CompletedRun], Sequence[Run]] = lambda _: (),
    ) -> list[CompletedRun]:
        """All ``runs``, in their order, and after them what ``more`` asks for when a run is done.

        Failed runs have an error; the others are not affected.
        :raises RunInterruptedError: when the end was asked for; finished runs are kept.
        """
        with ThreadPoolExecutor(max_workers=jobs) as pool:
            try:
                results = self._work_off(pool, deque(runs), jobs, progress, more)
            except BaseException:
                self._stop.ask()  # or the pool would first carry out what was given to it
                raise
        if self._stop.asked:
            raise RunInterruptedError("interrupted", hint="the same command goes on where this one ended")
        return results

    def _work_off(
        self,
        pool: ThreadPoolExecutor,
        todo: deque[Run],
        jobs: int,
        progress: Callable[[CompletedRun], None],
        more: Callable[[CompletedRun], Sequence[Run]],
    ) -> list[CompletedRun]:
        results: list[CompletedRun] = []
        put_off: deque[Run] = deque()
        pending: dict[Future[CompletedRun | None], Run] = {}
        while (todo or put_off or pending) and not self._stop.asked:
            # Twice as many as can work, so that a thread that becomes free does not wait for this one.
            while todo and len(pending) < 2 * jobs:
                run = todo.popleft()
                pending[pool.submit(self._one, run)] = run
            seconds = _PUT_OFF_SECONDS if put_off else _LOOK_SECONDS
            finished, _ = wait(pending, return_when=FIRST_COMPLETED, timeout=seconds)
            for future in finished:
                run, done = pending.pop(future), future.result()
                if done is None:
                    put_off.append(run)
                elif not self._stop.asked:
                    results.append(done)
                    progress(done)
                    todo.extend(more(done))
            if put_off and not todo and not finished:
                if not pending:
                    self._stop.wait(_PUT_OFF_SECONDS)
                todo, put_off = put_off, todo
        return results

    def _one(self, run: Run) -> CompletedRun | None:
        """None when another thread or command is making this recording."""
        if self._stop.asked:
            return CompletedRun(run)
        started = time.monotonic()
        try:
            return self._record(run, started)
        except LabError as error:
            return CompletedRun(run, error=error, wall_seconds=time.monotonic() - started)
        except OSError as error:
            message = f"{self._store.out} cannot be written: {reason(error)}"
            hint = "see `df` and `ls -ld`, or name another folder with --out"
            return CompletedRun(run, error=LabError(message, hint=hint), wall_seconds=time.monotonic() - started)

    def _record(self, run: Run, started: float) -> CompletedRun | None:
        job = prepare_job(run, self._engines)
        identity = job.identity.name
        target = self._store.place(identity)
        with self._store.claimed(identity) as mine:
            if not mine:
                return None
            first = self._is_first(identity)
            if is_complete(target) and not (self._fresh and first):
                if first:
                    relabelled(Recording(target), labels(run))
                return CompletedRun(run, target, _measured(target, run))
            with self._store.new_folder(identity) as folder:
                took: RunDuration = self._executor.record(job, folder, self._stop)
        self._store.note(identity, wall_seconds=took.wall_seconds, virtual_ns=took.virtual_ns, where=took.where)
        result = _measured(target, run)
        return CompletedRun(run, target, result, None, time.monotonic() - started, took.virtual_ns)

    def _is_first(self, identity: str) -> bool:
        """Whether this command meets the recording for the first time: two points of a sweep may be the same run."""
        with self._met_lock:
            first = identity not in self._met
            self._met.add(identity)
            return first


def _measured(folder: Path, run: Run) -> RunResult:
    """What rows need, by the names of this experiment. :raises LabError: when the recording is damaged."""
    return run_result(Recording(folder), tuple(run.point.settings.items()))
