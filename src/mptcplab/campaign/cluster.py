# SPDX-License-Identifier: MIT
"""The executor for several machines: runs are tasks of dask.distributed, and recordings return as bytes.

A worker needs mptcplab, the lab kernel and, for speed, its own CPU. It computes the identity of a run itself and
executes the run only if that equals the client's identity: then its kernel and programs are the same, and so are the
bytes of the recording. Only the connection to the scheduler is shared. The runs of a worker that dies move to other
workers; a run with which several workers die fails.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mptcplab.cache import cache_root, make_work_folder
from mptcplab.campaign import worker_signals
from mptcplab.campaign.record import Executor, LocalExecutor, RunDuration, RunJob, prepare_engines, prepare_job
from mptcplab.engine.protocol import RunInterruptedError, Stop, WithImages, kind_named
from mptcplab.errors import InputError, LabError, MissingError, reason
from mptcplab.lazy import extra_command
from mptcplab.scenario.load import Run

if TYPE_CHECKING:
    from distributed import Client, Future

_CONNECT_SECONDS = 15
_POLL_SECONDS = 0.25
_WATCH_SECONDS = 2.0
_LOCAL = "local"


@dataclass(frozen=True)
class WorkerReply:
    """A worker's reply: the files of the recording by name, or the error and the files of the failed run."""

    files: dict[str, bytes] = field(default_factory=dict)
    duration: RunDuration | None = None
    error: LabError | None = None


@contextlib.contextmanager
def connect(address: str, notice: Callable[[str], None] = lambda _: None) -> Iterator[tuple[Executor, int]]:
    """Yield an executor for the cluster at ``address``, and the number of runs to submit at a time.

    ``notice`` receives a sentence when a worker is lost.
    ``local`` and ``local:N`` start workers on this machine, which end with the block.
    :raises MissingError: without dask.distributed. :raises InputError: if there is no cluster.
    """
    try:
        import distributed
    except ImportError as error:
        message = "--cluster needs dask.distributed, which is not installed"
        raise MissingError(message, hint=extra_command("cluster")) from error
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with contextlib.ExitStack() as stack:
        if address == _LOCAL or address.startswith(f"{_LOCAL}:"):
            address = stack.enter_context(_start_local(address)).scheduler_address
        try:
            client = stack.enter_context(distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False))
        except (OSError, ValueError, TimeoutError) as error:
            hint = "start one with `dask scheduler`, then name its address, like tcp://192.0.2.1:8786"
            raise InputError(f"--cluster {address}: there is no scheduler", hint=hint) from error
        except AssertionError as error:
            # distributed reports in this way that its event loop did not start within 10 s.
            hint = "the machine may be too busy; try again"
            raise LabError(f"--cluster {address}: dask.distributed did not start", hint=hint) from error
        threads = sum(client.nthreads().values())
        if not threads:
            raise InputError(f"--cluster {address}: it has no workers", hint=f"start some: dask worker {address}")
        # More than can run at once, so that a worker that becomes free finds the next run waiting.
        stack.enter_context(_watch_workers(client, notice))
        yield ClusterExecutor(client), threads + max(1, threads // 4)


@contextlib.contextmanager
def _watch_workers(client: Client, notice: Callable[[str], None]) -> Iterator[None]:
    """Report every worker that leaves the cluster before the block ends."""
    done = threading.Event()

    def watch() -> None:
        known: set[str] = set(client.nthreads())
        while not done.wait(_WATCH_SECONDS):
            try:
                there = set(client.nthreads())
            except Exception:  # A lost scheduler has no common error; the runs themselves report it.
                return
            for address in sorted(known - there):
                others = f"{len(there)} left" if there else "none is left: the command waits for one"
                notice(f"worker {address} is lost, its runs move to other workers ({others})")
            known = there

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


@contextlib.contextmanager
def _start_local(address: str) -> Iterator[Any]:
    """Start worker processes on this machine, one run each, which only this machine can reach."""
    import distributed

    _, _, count = address.partition(":")
    if count and not (count.isascii() and count.isdigit() and 0 < int(count) <= 1024):
        raise InputError(f"--cluster {address}: '{count}' is not a number of workers", hint="for example local:2")
    workers = int(count) if count else len(os.sched_getaffinity(0))
    with distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address=None,
        preload=[worker_signals.__name__],
    ) as cluster:
        yield cluster


class ClusterExecutor:
    """Submits jobs to workers. See :class:`mptcplab.campaign.record.Executor`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def record(self, job: RunJob, folder: Path, stop: Stop) -> RunDuration:
        """See :class:`mptcplab.campaign.record.Executor`. :raises LabError: also if workers died with this run."""
        key = f"mptcplab-{job.identity.name}-{time.monotonic_ns()}"
        try:
            future = self._client.submit(execute, job.run, job.identity.facts, pure=False, key=key)
            try:
                reply = self._wait(future, stop)
            finally:
                future.cancel()
        except LabError:
            raise
        except Exception as error:  # The errors of a lost connection or scheduler have no common base class.
            text = " ".join(str(error).split()) or type(error).__name__
            raise LabError(f"the cluster lost this run: {text}", hint="check that the scheduler still runs") from error
        _write(reply.files, folder)
        if reply.error is not None:
            raise reply.error
        assert reply.duration is not None
        return reply.duration

    def _wait(self, future: Future[Any], stop: Stop) -> WorkerReply:
        from distributed import KilledWorker

        done = threading.Event()
        future.add_done_callback(lambda _: done.set())
        while not done.wait(_POLL_SECONDS):
            if stop.requested:
                raise RunInterruptedError("interrupted")
            # A task that was submitted just as the connection broke never reports back.
            if self._client.status == "closed" and not done.is_set():
                raise ConnectionError("the connection to the scheduler is closed")
        try:
            reply = future.result()
        except KilledWorker as error:
            hint = "see the workers' logs: this run may need more memory than they have"
            raise LabError(f"{error.allowed_failures + 1} workers died with this run", hint=hint) from error
        except ImportError as error:
            hint = "install the same mptcplab on every worker"
            raise LabError(f"a worker cannot execute runs: {error}", hint=hint) from error
        if not isinstance(reply, WorkerReply):
            raise LabError("a worker's reply is not a recording", hint="install the same mptcplab on every worker")
        return reply


def execute(run: Run, facts: dict[str, Any]) -> WorkerReply:
    """Record ``run`` on this worker, if its identity consists of the client's ``facts``."""
    from distributed import get_worker

    worker = get_worker()
    try:
        engines = prepare_engines([run], name=_engine_of(facts))
        job = prepare_job(run, engines)
        if job.identity.facts != facts:
            raise _difference(job.identity.facts, facts, worker.address)
        with _stop_when_cancelled() as stop, make_work_folder(job.identity.name, cache_root() / "cluster") as work:
            folder = work / "run"
            folder.mkdir()
            try:
                duration = LocalExecutor(engines).record(job, folder, stop)
            except (RunInterruptedError, MissingError):
                raise
            except LabError as error:
                return WorkerReply(_read(folder), error=error)
            return WorkerReply(_read(folder), RunDuration(duration.virtual_ns, duration.wall_seconds, worker.address))
    except MissingError as error:
        return WorkerReply(error=MissingError(f"worker {worker.address}: {error.message}", hint=error.hint))
    except LabError as error:
        return WorkerReply(error=error)
    except OSError as error:
        text = reason(error)
        return WorkerReply(error=LabError(f"worker {worker.address} failed: {text}", hint="see `df` there"))


def _engine_of(facts: dict[str, Any]) -> str:
    """Return the engine of a run as a user would write it, with the release of its kernel image if it has one."""
    name = str(facts["engine"])
    return f"{name}:{facts['kernel']['release']}" if isinstance(kind_named(name), WithImages) else name


def _difference(here: dict[str, Any], there: dict[str, Any], address: str) -> LabError:
    """Return an error that names the differences between the worker and the client."""
    names = []
    for key in sorted(here.keys() | there.keys()):
        mine, other = here.get(key), there.get(key)
        if isinstance(mine, dict) and isinstance(other, dict) and key in ("programs", "libraries"):
            names += [name for name in sorted(mine.keys() | other.keys()) if mine.get(name) != other.get(name)]
        elif mine != other:
            names.append({"recorder": "mptcplab", "plan_sha256": "mptcplab"}.get(key, key))
    text = ", ".join(dict.fromkeys(names))
    hint = "its runs would have another identity: install the same versions and the same kernel there"
    return LabError(f"worker {address} has another {text} than this machine", hint=hint)


@contextlib.contextmanager
def _stop_when_cancelled() -> Iterator[Stop]:
    """Yield a stop that is requested when the client cancels the task that calls this, or disconnects."""
    from distributed import get_worker

    worker, stop, done = get_worker(), Stop(), threading.Event()
    key = worker.get_current_task()

    def watch() -> None:
        while not done.wait(_POLL_SECONDS):
            task = worker.state.tasks.get(key)
            if task is None or task.state != "executing":
                stop.request()
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield stop
    finally:
        done.set()
        watcher.join()
        stop.close()


def _read(folder: Path) -> dict[str, bytes]:
    """Return the contents of all files below ``folder`` by their relative names."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def _write(files: dict[str, bytes], folder: Path) -> None:
    """Write files below ``folder``. :raises LabError: if a name leads out of it."""
    for name, data in files.items():
        path = Path(name)
        if path.is_absolute() or ".." in path.parts:
            hint = "start that worker with this version of mptcplab"
            raise LabError(f"a worker sent a file named {name!r}", hint=hint)
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
