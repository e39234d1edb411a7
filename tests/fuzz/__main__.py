# SPDX-License-Identifier: MIT
"""``python -m tests.fuzz --minutes N``: fuzzes every target for its share of the time. Status 1 means findings.

build/fuzz/corpus/TARGET     inputs that reach new code; the next call begins with them
           findings/TARGET   the input of each finding, and next to it the traceback
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.targets import TARGETS

_DONE = re.compile(r"number_of_executed_units: (\d+)")
#: Timeout for one input. The slowest valid ones, whole pages of results, take a tenth of a second.
_TIMEOUT_SECONDS = 20
_MEMORY_MB = 3000
_MAX_INPUT_BYTES = 16384
#: A file system in memory, for the temporary folders of targets: on a disk, removing one takes longer than reading it.
_MEMORY = Path("/dev/shm")
#: The shortest remaining time for another process.
_MIN_SECONDS = 1.0


@dataclass(frozen=True)
class SearchResult:
    """The result of fuzzing one target."""

    name: str
    seconds: float
    executions: int
    findings: tuple[Path, ...]


def main() -> None:
    """Fuzz all targets in turn."""
    arguments = _arguments()
    if importlib.util.find_spec("atheris") is None:
        sys.exit("fuzz: atheris is not installed\n  hint: pip install -e '.[dev,fuzz]'")
    names = arguments.only or list(TARGETS)
    seconds = arguments.minutes * 60 / len(names)
    searched = [_search(name, seconds, arguments.out) for name in names]
    for one in searched:
        print(f"{one.name:10} {one.seconds:6.0f} s {one.executions:9} executions {len(one.findings)} findings")
        for file in one.findings:
            print(f"    {file}")
    sys.exit(any(one.findings for one in searched))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="minutes of wall time for all targets together")
    parser.add_argument("--only", choices=list(TARGETS), action="append", help="fuzz only this target; repeatable")
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"), help="folder for corpus and findings")
    arguments: argparse.Namespace = parser.parse_args()
    return arguments


def _search(name: str, seconds: float, out: Path) -> SearchResult:
    """Fuzz one target until the time is over, and restart libFuzzer when a finding has ended it."""
    corpus, findings = out / "corpus" / name, out / "findings" / name
    for folder in (corpus, findings):
        folder.mkdir(parents=True, exist_ok=True)
    before = set(findings.iterdir())
    for number, seed in enumerate(TARGETS[name]().seeds()):
        (corpus / f"seed-{number}").write_bytes(seed)
    print(f"{name}: {seconds:.0f} s", file=sys.stderr, flush=True)
    started, executions = time.monotonic(), 0
    while (left := seconds - (time.monotonic() - started)) > _MIN_SECONDS:
        executions += _once(name, corpus, findings, left)
    new = sorted(file for file in set(findings.iterdir()) - before if file.suffix != ".txt")
    return SearchResult(name, time.monotonic() - started, executions, tuple(new))


def _once(name: str, corpus: Path, findings: Path, seconds: float) -> int:
    """Run one process; return the number of inputs that it tried."""
    options = [
        f"-max_total_time={int(seconds) + 1}",
        f"-timeout={_TIMEOUT_SECONDS}",
        f"-report_slow_units={_TIMEOUT_SECONDS}",
        f"-rss_limit_mb={_MEMORY_MB}",
        f"-max_len={_MAX_INPUT_BYTES}",
        f"-artifact_prefix={findings}/",
        "-print_final_stats=1",
        str(corpus),
    ]
    command = [sys.executable, "-m", "tests.fuzz.worker", name, str(findings), *options]
    # libFuzzer ends its process at once, so its temporary files are removed here.
    with (
        (findings.parent / f"{name}.log").open("w+") as log,
        tempfile.TemporaryDirectory(prefix="mptcplab-fuzz-", dir=_MEMORY if _MEMORY.is_dir() else None) as temporary,
    ):
        # One process is one thread: polars would start as many as there are cores.
        environment = {**os.environ, "TMPDIR": temporary, "POLARS_MAX_THREADS": "1"}
        subprocess.run(command, stdout=log, stderr=log, check=False, env=environment)
        log.seek(0)
        text = log.read()
    sys.stderr.writelines(f"  {line}\n" for line in text.splitlines() if line.startswith(("finding:", "SUMMARY:")))
    found = _DONE.search(text)
    if found is None:
        sys.exit(f"fuzz: the worker for '{name}' failed\n  hint: see {log.name}")
    return int(found[1])


if __name__ == "__main__":
    main()
