# SPDX-License-Identifier: MIT
"""``python -m bench.start --before CHECKOUT``: the CPU time of commands until they do something, and beside each run.

Commands of this version and of an earlier one take turns with an interpreter that does nothing. So do sweeps, of which
the process's own time counts, without the labs'.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tools.docs.making.pages import table_of

from bench import machines, scenarios

ROOT = Path(__file__).parents[1]
FILE = Path(__file__).with_name("start.json")
_EXAMPLE = "examples/two-paths.toml"
_COMPLETION = {"_MPTCPLAB_COMPLETE": "bash_complete", "COMP_WORDS": "mptcplab\nrun\n--", "COMP_CWORD": "2"}
#: Command lines without ``mptcplab``, and variables of their environment.
COMMANDS: Mapping[str, tuple[tuple[str, ...], Mapping[str, str]]] = {
    "`mptcplab --help`": (("--help",), {}),
    "`mptcplab run --help`": (("run", "--help"), {}),
    "completion of `mptcplab run --`": ((), _COMPLETION),
    "a wrong option, `mptcplab run --nosuch`": (("run", "--nosuch"), {}),
    f"`mptcplab show {_EXAMPLE}`": (("show", _EXAMPLE), {}),
}
RUN = "each further run of 0.1 s, beside its lab"
#: Prints the CPU time of this process for each run of a sweep but the first, which imports more.
_SWEEP = """
import sys, time
from pathlib import Path
from mptcplab.campaign.lab import Lab, Stop
from mptcplab.campaign.record import prepare_engines
from mptcplab.scenario.load import load
runs, times = load(Path(sys.argv[1])).runs, []
lab = Lab(prepare_engines(runs), Path(sys.argv[2]), stop=Stop())
done = lab.execute(runs, jobs=1, progress=lambda _: times.append(time.process_time()))
assert not any(one.error for one in done)
print((times[-1] - times[0]) / (len(times) - 1))
"""


@dataclass(frozen=True)
class StartRow:
    """CPU seconds of a command: of this version, of the earlier one, and of an interpreter that does nothing."""

    command: str
    now: list[float]
    before: list[float]
    nothing: list[float]


def _environment(source: Path) -> dict[str, str]:
    """Return variables for the package in ``source``, which may keep its bytecode."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPATH": str(source)}


def _measure_cpu_s(command: Sequence[str], source: Path, variables: Mapping[str, str]) -> float:
    """Return the CPU seconds of a command with the package in ``source``."""
    process = subprocess.Popen(
        [sys.executable, *command],
        cwd=ROOT,
        env={**_environment(source), **variables},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def _per_run(source: Path, runs: int) -> float:
    """Return the CPU seconds of a sweep's process for a run, without its lab's."""
    with tempfile.TemporaryDirectory(prefix="mptcplab-bench-") as name:
        file = Path(name, "bench.toml")
        file.write_text(f"repeats = {runs}{scenarios.two_paths('flow', '100 ms')}")
        command = [sys.executable, "-c", _SWEEP, str(file), str(Path(name, "out"))]
        done = subprocess.run(command, env=_environment(source), check=True, capture_output=True, text=True)
        return float(done.stdout)


def measure(before: Path, repeats: int, runs: int, report: Callable[[str], None]) -> list[StartRow]:
    """Return the CPU times of all commands, in turns; ``before`` is the source of the earlier version."""
    rows = []
    for name, (words, variables) in COMMANDS.items():
        row = StartRow(name, [], [], [])
        sides = [(row.now, ROOT / "src"), (row.before, before)]
        for number in range(repeats + 1):
            for results, source in sides:
                spent = _measure_cpu_s(("-m", "mptcplab", *words), source, variables)
                results += [spent] if number else []
            row.nothing.append(_measure_cpu_s(("-c", "pass"), before, {}))
        report(f"{name}: {statistics.median(row.now):.3f} s, before {statistics.median(row.before):.3f} s")
        rows.append(row)
    row = StartRow(RUN, [], [], [])
    for _ in range(max(1, repeats // 3)):
        for results, source in ((row.now, ROOT / "src"), (row.before, before)):
            results.append(_per_run(source, runs))
    report(f"{RUN}: {statistics.median(row.now):.3f} s, before {statistics.median(row.before):.3f} s")
    return [*rows, row]


def table(document: dict[str, Any] | None = None) -> str:
    """Return medians of the CPU times, and the medians of their ratios."""
    document = document or json.loads(FILE.read_text())
    head = ["command", "CPU s", "before", "now by before", "by an interpreter's start"]
    return table_of(head, [_cells(StartRow(**row)) for row in document["rows"]])


def _cells(row: StartRow) -> list[str]:
    ratio = statistics.median(now / before for now, before in zip(row.now, row.before, strict=True))
    start = f"{statistics.median(row.now) / statistics.median(row.nothing):.1f}" if row.nothing else ""
    return [
        row.command,
        f"{statistics.median(row.now):.3f}",
        f"{statistics.median(row.before):.3f}",
        f"{ratio:.2f}",
        start,
    ]


def main() -> None:
    """Measure, and print or write the times."""
    parser = argparse.ArgumentParser(prog="python -m bench.start", description=__doc__)
    parser.add_argument("--before", type=Path, required=True, help="checkout of the earlier version")
    parser.add_argument("--repeats", type=int, default=9, help="repeats of every command; default %(default)s")
    parser.add_argument("--runs", type=int, default=20, help="runs of the longer sweep; default %(default)s")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the times as JSON")
    arguments = parser.parse_args()
    if not (arguments.before / "src" / "mptcplab").is_dir():
        parser.error(f"--before: {arguments.before} is not a checkout of mptcplab")
    load = os.getloadavg()[0]
    rows = measure(
        arguments.before / "src",
        arguments.repeats,
        arguments.runs,
        lambda text: print(text, file=sys.stderr, flush=True),
    )
    document = {
        "machine": machines.present(),
        "load": [round(average, 1) for average in (load, os.getloadavg()[0])],
        "rows": [{key: _round(value) for key, value in asdict(row).items()} for row in rows],
    }
    if arguments.write:
        arguments.write.write_text(json.dumps(document, indent=1) + "\n")
    print(table(document))


def _round(value: Any) -> Any:
    return [round(seconds, 4) for seconds in value] if isinstance(value, list) else value


if __name__ == "__main__":
    main()
