# SPDX-License-Identifier: MIT
"""``python -m bench.versions --before CHECKOUT``: the CPU time of labs of this version beside an earlier version's.

Both run the same scenarios in turn on one CPU, each with the lab kernel that it has built.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tools.docs.making.pages import table_of

from bench import lab, machines, scenarios

ROOT = Path(__file__).parents[1]
FILE = Path(__file__).with_name("versions.json")
#: Prints the wall and the CPU seconds of the labs of a file's first point, without this process's.
_RUN = """
import json, sys
from pathlib import Path
from bench.usage import measure_usage
from mptcplab.campaign.lab import Lab, Stop
from mptcplab.campaign.record import prepare_engines
from mptcplab.scenario.load import load
runs = load(Path(sys.argv[1])).runs[:1]
lab = Lab(prepare_engines(runs), Path(sys.argv[2]), stop=Stop())
def work():
    return [done.error for done in lab.execute(runs, jobs=1, progress=lambda _: None)]
errors, usage = measure_usage(work)
assert errors == [None], errors
print(json.dumps([usage.wall, usage.cpu]))
"""


@dataclass(frozen=True)
class VersionCase:
    """A scenario with its name."""

    name: str
    scenario: str


@dataclass(frozen=True)
class VersionRow:
    """The virtual seconds of a case, and pairs of its wall and CPU seconds: of this version, and of the earlier one."""

    name: str
    seconds: float
    now: list[tuple[float, float]] = field(default_factory=list)
    before: list[tuple[float, float]] = field(default_factory=list)


def cases() -> list[VersionCase]:
    """Return the scenarios: what people run, and the shortest run."""
    handover = ROOT / "examples" / "handover.toml"
    return [
        VersionCase("iperf3, two 100 Mbit/s paths, 10 s", scenarios.two_paths("iperf3", "10 s")),
        VersionCase("`flow` every 5 ms, the same paths, 60 s", scenarios.two_paths("flow", "60 s")),
        VersionCase("bed of Table 4.1, iperf3, 60 s", scenarios.table_4_1("iperf3", "60 s")),
        VersionCase("one point of `handover.toml`, sampled every 10 ms", f"extends = {json.dumps(str(handover))}\n"),
        VersionCase("`flow`, 0.1 s", scenarios.two_paths("flow", "100 ms")),
    ]


def run(file: Path, source: Path) -> tuple[float, float]:
    """Return wall and CPU seconds of a run by the package in ``source``."""
    with tempfile.TemporaryDirectory(prefix="mptcplab-bench-") as out:
        done = subprocess.run(
            [sys.executable, "-c", _RUN, str(file), out],
            env={**os.environ, "PYTHONPATH": f"{source}:{ROOT}"},
            preexec_fn=lambda: os.sched_setaffinity(0, {lab.cpu()}),
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        sys.exit(f"bench: {source}: {done.stderr.strip()}")
    wall, cpu = json.loads(done.stdout)
    return wall, cpu


def measure(chosen: list[VersionCase], before: Path, repeats: int, report: Callable[[str], None]) -> list[VersionRow]:
    """Return the times of the cases; ``before`` is the source of the earlier version."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="mptcplab-bench-") as folder:
        for number, case in enumerate(chosen):
            file = Path(folder, f"{number}.toml")
            file.write_text(case.scenario)
            row = VersionRow(case.name, lab.measure(lab.workload_of(case.scenario)).virtual_seconds)
            for _ in range(repeats):
                row.now.append(run(file, ROOT / "src"))
                row.before.append(run(file, before))
            report(" | ".join(_cells(row)))
            rows.append(row)
    return rows


def table(rows: list[VersionRow]) -> str:
    """Return the medians of wall and CPU seconds, and of the ratios of CPU seconds."""
    head = ["run", "CPU s", "before", "times faster", "times real time", "wall s", "before"]
    return table_of(head, [_cells(row) for row in rows])


def stored_table() -> str:
    """Return the table of the file of the last measurement."""
    rows = json.loads(FILE.read_text())["rows"]
    return table(
        [
            VersionRow(row["name"], row["seconds"], *(list(map(tuple, row[side])) for side in ("now", "before")))
            for row in rows
        ]
    )


def _cells(row: VersionRow) -> list[str]:
    now, before = (statistics.median(cpu for _, cpu in side) for side in (row.now, row.before))
    ratio = statistics.median(old[1] / new[1] for new, old in zip(row.now, row.before, strict=True))
    walls = [statistics.median(wall for wall, _ in side) for side in (row.now, row.before)]
    return [
        row.name,
        f"{now:.2f}",
        f"{before:.2f}",
        f"{ratio:.2f}",
        f"{row.seconds / now:.1f}",
        *(f"{wall:.2f}" for wall in walls),
    ]


def main() -> None:
    """Measure, and print or write the times."""
    parser = argparse.ArgumentParser(prog="python -m bench.versions", description=__doc__)
    parser.add_argument(
        "--before", type=Path, required=True, help="checkout of the earlier version, with its lab kernel"
    )
    parser.add_argument("--repeats", type=int, default=5, help="repeats of every run; default %(default)s")
    parser.add_argument("--only", default="", help="runs whose names contain this text")
    parser.add_argument("--write", action="store_true", help=f"write {FILE.name}")
    arguments = parser.parse_args()
    if not (arguments.before / "src" / "mptcplab").is_dir():
        parser.error(f"--before: {arguments.before} is not a checkout of mptcplab")
    load = os.getloadavg()[0]
    chosen = [case for case in cases() if arguments.only in case.name]
    rows = measure(
        chosen, arguments.before / "src", arguments.repeats, lambda text: print(text, file=sys.stderr, flush=True)
    )
    document = {
        "machine": machines.present(),
        "load": [round(average, 1) for average in (load, os.getloadavg()[0])],
        "rows": [asdict(row) for row in rows],
    }
    if arguments.write:
        FILE.write_text(json.dumps(document, indent=1) + "\n")
    print(table(rows))


if __name__ == "__main__":
    main()
