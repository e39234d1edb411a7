# SPDX-License-Identifier: MIT
"""The runs of an experiment: some are in a results folder already, others are executed, each once."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars  # noqa: F401  it installs a handler of Ctrl-C when it is imported, which must not come after Stop's

from mptcplab.campaign.record import Engines, Executor, LocalExecutor, RunDuration, labels, prepare_engines, prepare_job
from mptcplab.campaign.store import Store
from mptcplab.engine.protocol import RunInterruptedError, Stop
from mptcplab.errors import LabError, reason
from mptcplab.metrics.kept import cached_result, warm_up
from mptcplab.metrics.rows import RunResult
from mptcplab.plan.estimate import estimate_seconds
from mptcplab.recording.record import Recording, is_complete, relabel
from mptcplab.scenario.load import Run, sum_estimates

__all__ = [
    "CompletedRun",
    "Lab",
    "Stop",
    "prepare_engines",
]


# Which runs a results folder has already, made with the present kernel and programs, and what others will cost.
#
# Nothing is executed.

#: A run of an experiment: its point's id, and its repeat.
RunKey = tuple[int, int]


def key_of(run: Run) -> RunKey:
    """Return the key of a run; it holds as long as the run's point exists."""
    return id(run.point), run.repeat


def names_by_key(runs: Sequence[Run], engines: Engines, folder: Path) -> dict[RunKey, str]:
    """Return the name of the recording of each of ``runs`` that ``folder`` has.

    :raises MissingError: when this machine lacks a program.
    """
    if not (folder / "runs").is_dir():
        return {}
    # An identity takes a hundredth of a second, so do not compute them in vain for a new folder.
    names = ((run, prepare_job(run, engines).identity.name) for run in runs)
    return {key_of(run): name for run, name in names if is_complete(folder / "runs" / name)}


def missing_runs(runs: Sequence[Run], folder: Path) -> list[Run]:
    """Return the ``runs`` that ``folder`` lacks.

    :raises MissingError: when this machine lacks the kernel or a program.
    """
    engines = prepare_engines(runs)
    recorded = names_by_key(runs, engines, folder)
    if not recorded:
        for run in runs[:1]:
            prepare_job(run, engines)  # a missing program is reported with the first run
    return [run for run in runs if key_of(run) not in recorded]


def cpu_seconds(runs: Iterable[Run]) -> float:
    """Return roughly what ``runs`` cost on one CPU."""
    return sum_estimates(runs, estimate_seconds)


# Executes the runs of an experiment, several at a time and each once.
#
# Several commands can use one results folder at the same time: a run that another command is recording is postponed,
# and is recorded when its turn comes again. Of every finished run, only the data for its table stays in memory.

_POLL_SECONDS = 0.5
#: Delay before the next attempt at a run that another command is recording.
_POSTPONE_SECONDS = 0.2


@dataclass(frozen=True)
class CompletedRun:
    """One run with its recording and result, or its error.

    ``wall_seconds`` includes the computation of the result; None if the run was already recorded. ``virtual_ns`` counts
    from the plan's time zero.
    """

    run: Run
    folder: Path | None = None
    result: RunResult | None = None
    error: LabError | None = None
    wall_seconds: float | None = None
    virtual_ns: int = 0

    @property
    def recording(self) -> Recording | None:
        """The recording, which is read again at every use: thousands of open recordings would fill the memory."""
        return Recording(self.folder) if self.folder is not None else None


class Lab:
    """Executes runs into one results folder, with the ``engines`` that the runs need.

    With ``fresh``, recorded runs are executed again. ``recorded`` names the recordings of runs that are known to be
    there, which saves compiling these runs. Without an ``executor``, runs are executed on this machine.
    """

    def __init__(
        self,
        engines: Engines,
        out: Path,
        *,
        stop: Stop,
        fresh: bool = False,
        recorded: Mapping[RunKey, str] | None = None,
        executor: Executor | None = None,
    ) -> None:
        self._engines, self._stop, self._fresh = engines, stop, fresh
        engines.check_folder(out.resolve())
        self._recorded = recorded or {}
        self._store = Store(out)
        self._executor = executor or LocalExecutor.with_free_memory(self._engines)
        self._seen: set[str] = set()
        self._prepared = False
        self._lock = threading.Lock()

    def execute(
        self,
        runs: Iterable[Run],
        *,
        jobs: int,
        progress: Callable[[CompletedRun], None],
        more: Callable[[CompletedRun], Sequence[Run]] = lambda _: (),
    ) -> list[CompletedRun]:
        """Execute all ``runs`` in order, and then the runs that ``more`` returns for a finished run.

        Failed runs have an error and do not affect others.
        :raises RunInterruptedError: if a stop was requested; finished runs are kept.
        """
        with ThreadPoolExecutor(max_workers=jobs) as pool:
            try:
                results = self._execute_all(pool, deque(runs), jobs, progress, more)
            except BaseException:
                self._stop.request()  # otherwise the pool would first execute all submitted runs
                raise
        if self._stop.requested:
            raise RunInterruptedError("interrupted", hint="the same command continues where this one stopped")
        return results

    def _execute_all(
        self,
        pool: ThreadPoolExecutor,
        todo: deque[Run],
        jobs: int,
        progress: Callable[[CompletedRun], None],
        more: Callable[[CompletedRun], Sequence[Run]],
    ) -> list[CompletedRun]:
        results: list[CompletedRun] = []
        postponed: deque[Run] = deque()
        pending: dict[Future[CompletedRun | None], Run] = {}
        while (todo or postponed or pending) and not self._stop.requested:
            # Submit twice as many as can run, so that a thread that becomes free does not wait for this one.
            while todo and len(pending) < 2 * jobs:
                run = todo.popleft()
                pending[pool.submit(self._run_one, run)] = run
            seconds = _POSTPONE_SECONDS if postponed else _POLL_SECONDS
            finished, _ = wait(pending, return_when=FIRST_COMPLETED, timeout=seconds)
            for future in finished:
                run, done = pending.pop(future), future.result()
                if done is None:
                    postponed.append(run)
                elif not self._stop.requested:
                    results.append(done)
                    progress(done)
                    todo.extend(more(done))
            if postponed and not todo and not finished:
                if not pending:
                    self._stop.wait(_POSTPONE_SECONDS)
                todo, postponed = postponed, todo
        return results

    def _run_one(self, run: Run) -> CompletedRun | None:
        """Execute one run; None if another thread or command is recording it."""
        if self._stop.requested:
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
        identity, job = self._recorded.get(key_of(run)), None
        if identity is None:
            job = prepare_job(run, self._engines)
            identity = job.identity.name
        target = self._store.folder_of(identity)
        with self._store.claim(identity) as mine:
            if not mine:
                return None
            first = self._is_first(identity)
            if is_complete(target) and not (self._fresh and first):
                if first:
                    relabel(Recording(target), labels(run))
                return CompletedRun(run, target, _measure_recording(target, run))
            job = job or prepare_job(run, self._engines)
            with self._store.new_folder(identity) as folder, self._prepare_measuring():
                duration: RunDuration = self._executor.record(job, folder, self._stop)
        self._store.note(
            identity, wall_seconds=duration.wall_seconds, virtual_ns=duration.virtual_ns, worker=duration.worker
        )
        result = _measure_recording(target, run)
        return CompletedRun(run, target, result, None, time.monotonic() - started, duration.virtual_ns)

    @contextmanager
    def _prepare_measuring(self) -> Iterator[None]:
        """Prepare for the first result in a thread, since this process waits for its lab while inside."""
        with self._lock:
            thread = None if self._prepared else threading.Thread(target=warm_up)
            self._prepared = True
        if thread is None:
            yield
            return
        thread.start()
        try:
            yield
        finally:
            thread.join()

    def _is_first(self, identity: str) -> bool:
        """Return whether this command uses the recording for the first time: two points of a sweep can share a run."""
        with self._lock:
            first = identity not in self._seen
            self._seen.add(identity)
            return first


def _measure_recording(folder: Path, run: Run) -> RunResult:
    """Return the result of a recording under the settings of ``run``. :raises LabError: if the recording is damaged."""
    return cached_result(Recording(folder), tuple(run.point.settings.items()))
