# SPDX-License-Identifier: MIT
"""``python -m bench.short_runs --before CHECKOUT``: short runs and sweeps of them, beside an earlier version's.

Runs of 0.1 s are executed in turns by both versions, with user code in the lab kernel's process and in stubs: the first
run of a process, which imports and finds more than the others, each further one, and `mptcplab run` with many.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tools.docs.making.pages import table_of

from bench import machines, scenarios
from bench.usage import measure_usage
from mptcplab.engine.virtual.machine import INPROC

ROOT = Path(__file__).parents[1]
FILE = Path(__file__).with_name("short_runs.json")
MODES = ("on", "off")
FIRST, FURTHER, SWEEP = "first run of a process", "each further run", "`mptcplab run`, {} runs"
#: Wall seconds at most, of a run and of a whole sweep on two cores.
_RUN_TARGET, _SWEEP_TARGET = 0.15, 45.0
_SWEEP_RUNS = 500
_RUNS = 5
#: Of the runs of a process: the first, and the others.
_PARTS = slice(1), slice(1, None)
#: Prints the wall and the CPU seconds of each run of a file: of everything from the call to the result.
_EXECUTE = """
import json, resource, sys, time
from pathlib import Path
from mptcplab.campaign.lab import Lab, Stop
from mptcplab.campaign.record import prepare_engines
from mptcplab.scenario.load import load
def now():
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return time.monotonic(), sum(usage.ru_utime + usage.ru_stime for usage in usages)
runs, spent = load(Path(sys.argv[1])).runs, []
lab = Lab(prepare_engines(runs), Path(sys.argv[2]), stop=Stop())
for run in runs:
    begin = now()
    (done,) = lab.execute([run], jobs=1, progress=lambda _: None)
    assert not done.error, done.error
    spent.append([end - start for start, end in zip(begin, now())])
print(json.dumps(spent))
"""

#: Wall and CPU seconds.
Times = tuple[float, float]


@dataclass(frozen=True)
class ShortRow:
    """The measurements of one mode of user code: the times of this version, and of the earlier one."""

    name: str
    mode: str
    now: Sequence[Times]
    before: Sequence[Times]


def _environment(source: Path, mode: str) -> dict[str, str]:
    """Return variables for the package in ``source``, which may keep its bytecode."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPATH": str(source), INPROC: mode}


def _scenario(folder: Path, runs: int) -> Path:
    file = folder / "bench.toml"
    file.write_text(f"repeats = {runs}{scenarios.two_paths('flow', '100 ms')}")
    return file


def _time_single_runs(source: Path, mode: str) -> list[Times]:
    """Return the times of some runs of a new process, in order."""
    with tempfile.TemporaryDirectory(prefix="mptcplab-bench-") as name:
        folder = Path(name)
        command = [sys.executable, "-c", _EXECUTE, str(_scenario(folder, _RUNS)), str(folder / "out")]
        done = subprocess.run(command, env=_environment(source, mode), check=False, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"bench: {source}: {done.stderr.strip()}")
        return [(wall, cpu) for wall, cpu in json.loads(done.stdout)]


def _sweep(source: Path, mode: str, runs: int) -> Times:
    """Return the times of `mptcplab run`, from the start of the command to its end."""
    with tempfile.TemporaryDirectory(prefix="mptcplab-bench-") as name:
        folder = Path(name)
        command = [sys.executable, "-m", "mptcplab", "run", str(_scenario(folder, runs)), "--out", str(folder / "out")]

        def work() -> None:
            subprocess.run(command, env=_environment(source, mode), check=True, capture_output=True)

        started = time.monotonic()
        _, usage = measure_usage(work)
        return max(usage.wall, time.monotonic() - started), usage.cpu


def measure(
    before: Path, repeats: int, runs: int, modes: Sequence[str], report: Callable[[str], None]
) -> list[ShortRow]:
    """Return all times; ``before`` is the source of the earlier version, ``runs`` the extent of a sweep."""
    sources = ROOT / "src", before
    rows = []
    for mode in modes:
        singles: list[list[list[Times]]] = [[], []]
        sweeps: list[list[Times]] = [[], []]
        for _ in range(repeats):
            for side, source in enumerate(sources):
                singles[side].append(_time_single_runs(source, mode))
        for _ in range(repeats if runs else 0):
            for side, source in enumerate(sources):
                sweeps[side].append(_sweep(source, mode, runs))
        firsts, further = ([[run for each in side for run in each[part]] for side in singles] for part in _PARTS)
        of_mode = [ShortRow(FIRST, mode, *firsts), ShortRow(FURTHER, mode, *further)]
        of_mode += [ShortRow(SWEEP.format(runs), mode, *sweeps)] if runs else []
        for row in of_mode:
            report(" | ".join(_cells(row)))
        rows += of_mode
    return rows


def table(document: Mapping[str, Any]) -> str:
    """Return the medians of wall and CPU seconds, the smallest wall seconds, and the targets."""
    head = ["0.1 s of MPTCP", "user code", "wall s", "before", "at best", "before", "target", "CPU s", "before"]
    return table_of(head, [_cells(ShortRow(**row)) for row in document["rows"]])


def stored_table() -> str:
    """Return the table of the file of the last measurement."""
    return table(json.loads(FILE.read_text()))


def _cells(row: ShortRow) -> list[str]:
    walls, cpus = ([[times[part] for times in side] for side in (row.now, row.before)] for part in (0, 1))
    places = {"on": "in the kernel's process", "off": "in stubs"}
    return [
        row.name,
        places[row.mode],
        *(_seconds(statistics.median(side)) for side in walls),
        *(_seconds(min(side)) for side in walls),
        _target(row.name),
        *(_seconds(statistics.median(side)) for side in cpus),
    ]


def _target(name: str) -> str:
    """Return the target of a row; a sweep of another extent than the full one has none."""
    targets = {FIRST: _RUN_TARGET, FURTHER: _RUN_TARGET, SWEEP.format(_SWEEP_RUNS): _SWEEP_TARGET}
    return f"{targets[name]:g}" if name in targets else ""


def _seconds(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def main() -> None:
    """Measure, and print or write the times."""
    parser = argparse.ArgumentParser(prog="python -m bench.short_runs", description=__doc__)
    parser.add_argument(
        "--before", type=Path, required=True, help="checkout of the earlier version, with its lab kernel"
    )
    parser.add_argument("--repeats", type=int, default=5, help="repeats of every measurement; default %(default)s")
    parser.add_argument("--runs", type=int, default=_SWEEP_RUNS, help="runs of the sweep; default %(default)s, 0: none")
    parser.add_argument("--mode", choices=MODES, action="append", help="only with user code there; repeatable")
    parser.add_argument("--write", action="store_true", help=f"write {FILE.name}")
    arguments = parser.parse_args()
    if not (arguments.before / "src" / "mptcplab").is_dir():
        parser.error(f"--before: {arguments.before} is not a checkout of mptcplab")
    if arguments.repeats < 1 or arguments.runs < 0:
        parser.error("--repeats must be at least 1, and --runs not be negative")
    load = os.getloadavg()[0]
    rows = measure(
        arguments.before / "src",
        arguments.repeats,
        arguments.runs,
        arguments.mode or MODES,
        lambda text: print(text, file=sys.stderr, flush=True),
    )
    document = {
        "machine": machines.present(),
        "load": [round(average, 1) for average in (load, os.getloadavg()[0])],
        "rows": [asdict(row) for row in rows],
    }
    if arguments.write:
        FILE.write_text(json.dumps(document, indent=1) + "\n")
    print(table(document))


if __name__ == "__main__":
    main()
