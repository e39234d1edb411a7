# SPDX-License-Identifier: MIT
"""Fuzz targets in turn, each for its share of the time or for an exact number of inputs. Status 1 means findings.

build/fuzz/seed-N/corpus/TARGET     inputs that reach new code; the next call begins with them
                  findings/TARGET   the input of each finding, and next to it the traceback
                  logs/TARGET.log   the last output of libFuzzer
                  summary-TIME.json  inputs, CPU time and findings of each target, also of a call that was interrupted

Calls with different seeds try different inputs, share nothing, and may run side by side.
"""

from __future__ import annotations

import argparse
import fcntl
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from tests.fuzz.counts import Counts
from tests.fuzz.targets import TARGETS

#: Timeout for one input. The slowest valid ones, whole pages of results, take a tenth of a second.
_TIMEOUT_SECONDS = 20
_MEMORY_MB = 3000
_MAX_INPUT_BYTES = 16384
#: Shorter where more is only more of the same: 170 packets of `fit`, hundreds of `capture`, twice the longest script.
#: libFuzzer makes inputs longer as long as it finds nothing new, and they take as much longer to read.
_MAX_BYTES_OF = {"fit": 2048, "capture": 4096, "import": 4096}
#: A file system in memory, for the temporary folders of targets: on a disk, removing one takes longer than reading it.
_MEMORY = Path("/dev/shm")
#: The shortest remaining time for another process.
_MIN_SECONDS = 1.0
#: Time between two notes of the progress, and for a worker to end when it is asked to.
_NOTE_SECONDS, _END_SECONDS = 60.0, 10.0
_DEFAULT_MINUTES = 60.0
#: libFuzzer does the same again with the same seed: a worker that replaces one gets a seed that no other call uses.
_MAX_SEED, _MAX_WORKERS = 999, 1_000_000
#: One worker is one thread: polars and numpy's linear algebra would start as many as there are cores.
_ONE_THREAD = {"POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
_INTERRUPTED = 130


@dataclass
class Search:
    """The search with one target: what it may take, and what it did. ``max_executions`` is None without a limit."""

    name: str
    max_seconds: float
    max_executions: int | None
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    executions: int = 0
    accepted: int = 0
    workers: int = 0
    findings: list[Path] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        """Return whether the time is over or the number of inputs reached."""
        is_enough = self.max_executions is not None and self.executions >= self.max_executions
        return is_enough or self.max_seconds - self.seconds <= _MIN_SECONDS

    @property
    def rate(self) -> float:
        """Inputs in one CPU second."""
        return self.executions / self.cpu_seconds if self.cpu_seconds else 0.0

    @property
    def line(self) -> str:
        """The numbers of the search, as a line of text."""
        share = self.accepted / self.executions if self.executions else 0.0
        return (
            f"{self.name:10} {self.executions:>11,} executions, {share:4.0%} accepted, {self.seconds:6.0f} s, "
            f"{self.cpu_seconds:6.0f} CPU s, {self.rate:7,.0f} per CPU s, {len(self.findings)} findings"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what it did as JSON data."""
        return {
            "target": self.name,
            "executions": self.executions,
            "accepted": self.accepted,
            "seconds": round(self.seconds, 1),
            "cpu_seconds": round(self.cpu_seconds, 1),
            "executions_per_cpu_second": round(self.rate, 1),
            "workers": self.workers,
            "findings": [str(file) for file in self.findings],
        }


def main() -> None:
    """Fuzz the targets, and write the summary, also when SIGINT or SIGTERM ends the search."""
    arguments = parse_arguments()
    if importlib.util.find_spec("atheris") is None:
        sys.exit("fuzz: atheris is not installed\n  hint: pip install -e '.[dev,fuzz]'")
    signal.signal(signal.SIGTERM, _interrupt)
    searches = plan_searches(arguments)
    folder = arguments.out / f"seed-{arguments.seed}"
    folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(folder):
        summary = folder / f"summary-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}.json"
        deadline, is_interrupted = time.monotonic() + _limit_seconds(arguments), False
        try:
            for search in searches:
                search.max_seconds = min(search.max_seconds, max(0.0, deadline - time.monotonic()))
                for _ in _search(search, folder, arguments.seed):
                    _write_summary(summary, arguments.seed, "running", searches)
        except KeyboardInterrupt:
            is_interrupted = True
        is_short = any(search.executions < (search.max_executions or 0) for search in searches)
        state = "interrupted" if is_interrupted else "out of time" if is_short else "complete"
        _write_summary(summary, arguments.seed, state, searches)
    for search in searches:
        print(search.line)
        for file in search.findings:
            print(f"    {file}")
    print(f"{sum(search.executions for search in searches):,} executions in all; summary: {summary}")
    sys.exit(_INTERRUPTED if is_interrupted else any(search.findings for search in searches))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    limits = "minutes of wall time for all targets together, in equal shares; default: 60. "
    limits += "With --runs, the first targets may take all of it; default: no limit"
    parser.add_argument("--minutes", type=float, help=limits)
    runs = "inputs of each target, or of one (TARGET=N); repeatable. With TARGET=N alone, only these targets are fuzzed"
    parser.add_argument("--runs", type=_runs, action="append", default=[], metavar="[TARGET=]N", help=runs)
    parser.add_argument("--only", choices=list(TARGETS), action="append", help="fuzz only this target; repeatable")
    parser.add_argument("--seed", type=int, default=1, help="begin of the random numbers, and name of the folder")
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"), help="folder for corpus and findings")
    arguments = parser.parse_args()
    if not 1 <= arguments.seed <= _MAX_SEED:
        parser.error(f"argument --seed: use a number from 1 to {_MAX_SEED}")
    return arguments


def _runs(text: str) -> tuple[str | None, int]:
    """Return a target, if one is named, and its number of inputs."""
    name, _, number = text.rpartition("=")
    if (name and name not in TARGETS) or not number.isdecimal() or int(number) < 1:
        raise argparse.ArgumentTypeError(f"use N or TARGET=N, with a target of {', '.join(TARGETS)}")
    return name or None, int(number)


def plan_searches(arguments: argparse.Namespace) -> list[Search]:
    """Return a search for each target, with its limits."""
    runs = dict(arguments.runs)
    named = [name for name in runs if name is not None]
    names = arguments.only or (named if named and None not in runs else list(TARGETS))
    share = _limit_seconds(arguments) / (1 if runs else len(names))
    return [Search(name, share, runs.get(name, runs.get(None))) for name in dict.fromkeys(names)]


def _limit_seconds(arguments: argparse.Namespace) -> float:
    """Return the wall time for all targets together."""
    if arguments.minutes is None and arguments.runs:
        return float("inf")
    minutes: float = _DEFAULT_MINUTES if arguments.minutes is None else arguments.minutes
    return minutes * 60


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold the folder of a seed, which only one call may use at a time."""
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            print(f"fuzz: another call uses {folder}\n  hint: choose another --seed", file=sys.stderr)
            sys.exit(2)
        yield


def _write_summary(file: Path, seed: int, state: str, searches: list[Search]) -> None:
    total = sum(search.executions for search in searches)
    document = {"seed": seed, "state": state, "executions": total, "targets": [search.to_dict() for search in searches]}
    file.write_text(json.dumps(document, indent=2) + "\n")


def _search(search: Search, folder: Path, seed: int) -> Iterator[None]:
    """Fuzz one target, and yield whenever its numbers have changed. If a finding ends a worker, another follows."""
    corpus, findings, logs = (folder / name / search.name for name in ("corpus", "findings", "logs"))
    for needed in (corpus, findings, logs.parent):
        needed.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(TARGETS[search.name]().seeds()):
        (corpus / f"seed-{number}").write_bytes(content)
    before = set(findings.iterdir())
    limit = "" if search.max_executions is None else f" {search.max_executions:,} executions"
    limit += "" if search.max_seconds == float("inf") else f" {search.max_seconds:.0f} s"
    print(f"{search.name}:{limit}", file=sys.stderr, flush=True)
    while not search.is_over:
        executions = search.executions
        for _ in _work(search, corpus, findings, logs.with_suffix(".log"), seed):
            search.findings = sorted(file for file in set(findings.iterdir()) - before if file.suffix != ".txt")
            yield
        if search.executions == executions:
            sys.exit(f"fuzz: the worker for '{search.name}' failed\n  hint: see {logs.with_suffix('.log')}")


def _work(search: Search, corpus: Path, findings: Path, log: Path, seed: int) -> Iterator[None]:
    """Run one worker until it ends; yield now and then, and at the end."""
    before, started = (search.seconds, search.cpu_seconds, search.executions, search.accepted), time.monotonic()
    # libFuzzer ends its process at once, so its temporary files are removed here.
    with (
        log.open("w+") as output,
        tempfile.TemporaryDirectory(prefix="mptcplab-fuzz-", dir=_MEMORY if _MEMORY.is_dir() else None) as temporary,
    ):
        file = Path(temporary) / "counts"
        counts = Counts.create(file)
        options = _options(search, corpus, findings, seed * _MAX_WORKERS + search.workers)
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.worker", search.name, str(findings), str(file), *options],
            stdout=output,
            stderr=output,
            env={**os.environ, **_ONE_THREAD, "TMPDIR": temporary},
            # Ctrl-C reaches only this process, which then ends the worker.
            process_group=0,
        )
        search.workers += 1
        try:
            is_running = True
            while is_running:
                try:
                    process.wait(_NOTE_SECONDS)
                    is_running = False
                except subprocess.TimeoutExpired:
                    print(f"  {search.line}", file=sys.stderr, flush=True)
                _add(search, before, time.monotonic() - started, counts)
                yield
        finally:
            _end(process)
            _add(search, before, time.monotonic() - started, counts)
        output.seek(0)
        lines = output.read().splitlines()
    sys.stderr.writelines(f"  {line}\n" for line in lines if line.startswith(("finding:", "SUMMARY:")))


def _options(search: Search, corpus: Path, findings: Path, seed: int) -> list[str]:
    """Return libFuzzer's options for what is left of a search."""
    options = [
        f"-seed={seed}",
        f"-timeout={_TIMEOUT_SECONDS}",
        f"-report_slow_units={_TIMEOUT_SECONDS}",
        f"-rss_limit_mb={_MEMORY_MB}",
        f"-max_len={_MAX_BYTES_OF.get(search.name, _MAX_INPUT_BYTES)}",
        f"-artifact_prefix={findings}/",
        # Nothing else writes to the corpus.
        "-reload=0",
    ]
    if search.max_seconds != float("inf"):
        options.append(f"-max_total_time={int(search.max_seconds - search.seconds) + 1}")
    if search.max_executions is not None:
        options.append(f"-runs={search.max_executions - search.executions}")
    return [*options, str(corpus)]


def _add(search: Search, before: tuple[float, float, int, int], seconds: float, counts: Counts) -> None:
    """Set the numbers of a search to those before its present worker, with what this worker did."""
    search.seconds = before[0] + seconds
    search.cpu_seconds = before[1] + counts.cpu_s
    search.executions = before[2] + counts.executions
    search.accepted = before[3] + counts.accepted


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a worker that still runs."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
