# SPDX-License-Identifier: MIT
"""``python -m tests.setups``: the same bytes on unlike installations.

Status 1 means that installations of the same versions differ.

build/setups/SETUP/COMMAND/   results; build/setups/report.md has the comparison
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.setups.commands import Comparison, comparisons, folder_of, run_in, run_main
from tests.setups.differences import Difference, compare
from tests.setups.roots import Setup, make_root, setups

from mptcplab.errors import LabError, MissingError
from mptcplab.kernel import find_kernel
from mptcplab.kernel.console import StderrReporter
from mptcplab.kernel.data import DEFAULT_VERSION


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.setups", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument("--kernel", default=DEFAULT_VERSION, help="lab kernel of all runs")
    parser.add_argument("--setup", action="append", default=[], help="set-up to compare; default: all. Repeatable")
    parser.add_argument("--only", default="", help="commands whose names contain this text")
    parser.add_argument("--out", type=Path, default=Path("build/setups"), help="folder of the results")
    arguments: argparse.Namespace = parser.parse_args()
    return arguments


def _measure(setup: Setup, chosen: Sequence[Comparison], out: Path, progress: StderrReporter) -> None:
    """Run all commands in one set-up. The set-up ``everything`` also has a longer environment and search path.

    :raises LabError: if a command fails.
    """
    root = make_root(setup, progress)
    for comparison in chosen:
        progress.stage(f"{setup.name}: {comparison.name}")
        shutil.rmtree(folder_of(comparison, out), ignore_errors=True)
        done = run_in(root, comparison, out, long_environment=setup.name == "everything")
        if done.returncode not in comparison.statuses:
            message = f"{comparison.name} ended with status {done.returncode} in the set-up {setup.name}"
            raise LabError(message, hint=done.stderr.strip() or "it printed nothing")


def _rows(
    chosen: Sequence[Comparison], first: Setup, others: Sequence[Setup], out: Path
) -> Iterator[tuple[Comparison, Setup, Difference]]:
    for comparison in chosen:
        places = {setup.name: folder_of(comparison, out / setup.name) for setup in (first, *others)}
        for other in others:
            yield comparison, other, compare(places[first.name], places[other.name])


def main() -> int:
    """Make the set-ups, run everything in each, and compare each with the first."""
    arguments = _arguments()
    out = arguments.out.resolve()
    kernel = find_kernel(arguments.kernel)
    chosen = [comparison for comparison in comparisons(str(kernel.name)) if arguments.only in comparison.name]
    first, *others = setups(arguments.setup)
    if not others or not chosen:
        raise MissingError("there is nothing to compare", hint="name two set-ups, and commands that exist")
    with StderrReporter() as progress:
        for setup in (first, *others):
            (out / setup.name).mkdir(parents=True, exist_ok=True)
            _measure(setup, chosen, out / setup.name, progress)
    lines = ["| command | set-up | compared with " + first.name + " |", "| --- | --- | --- |"]
    is_same = True
    for comparison, other, difference in _rows(chosen, first, others, out):
        lines.append(f"| {comparison.name} | {other.name} | {difference} |")
        is_same = is_same and (other.suite != first.suite or bool(difference.compared and not difference.files))
        for name in difference.files[:5]:
            print(f"{comparison.name}, {other.name}: {name}", file=sys.stderr)
    (out / "report.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    return 0 if is_same else 1


if __name__ == "__main__":
    run_main(main)
