# SPDX-License-Identifier: MIT
"""``python -m tests.setups.modes``: the same bytes with user code in stubs and in the kernel's process.

Status 1 if they differ.

build/modes/MODE/COMMAND/   results; build/modes/report.md has the comparison
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.setups.commands import Comparison, folder_of, run_main
from tests.setups.differences import Difference, compare
from tests.setups.roots import REPOSITORY

from mptcplab.engine.virtual.machine import INPROC, has_inproc
from mptcplab.errors import LabError, MissingError
from mptcplab.kernel import find_kernel
from mptcplab.kernel.console import StderrReporter
from mptcplab.kernel.data import DEFAULT_VERSION

_MODES = ("off", "on")
#: Scenarios of other engines and of kernels with radios.
_OTHERS = ("ssh", "steering", "wifi")


def comparisons(kernel: str) -> Iterator[Comparison]:
    """Yield a run of each example, the short form of all studies, and all selftests."""
    examples = REPOSITORY / "examples"
    for file in sorted(examples.rglob("*.toml")):
        name = file.relative_to(examples)
        if name.parts[0] not in _OTHERS:
            yield Comparison(
                f"example {name.with_suffix('')}", ("run", str(file), "--set", f"kernel={kernel}"), ("--out",), (0, 1)
            )
    yield Comparison("studies", ("reproduce", "--quick", "--set", f"kernel={kernel}"), ("--out",), (0, 1))
    yield Comparison("selftests", ("selftest", "--kernel", kernel, "--json"), ("--out",), (0, 1))


def measure(comparison: Comparison, out: Path) -> Difference:
    """Run a command in both modes, with its results below ``out``, and return how these differ.

    :raises LabError: if the command fails.
    """
    folders = []
    for mode in _MODES:
        folder = folder_of(comparison, out / mode)
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        argv = [sys.executable, "-m", "mptcplab", *comparison.arguments, *comparison.out, str(folder)]
        done = subprocess.run(argv, env={**os.environ, INPROC: mode}, capture_output=True, text=True, check=False)
        if done.returncode not in comparison.statuses:
            message = f"{comparison.name} ended with status {done.returncode} in the mode {mode}"
            raise LabError(message, hint=done.stderr.strip() or "it printed nothing")
        folders.append(folder)
    return compare(*folders)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.setups.modes", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument("--kernel", default=DEFAULT_VERSION, help="lab kernel of all runs")
    parser.add_argument("--only", default="", help="commands whose names contain this text")
    parser.add_argument("--out", type=Path, default=Path("build/modes"), help="folder of the results")
    arguments: argparse.Namespace = parser.parse_args()
    return arguments


def main() -> int:
    """Run everything in both modes, and report what differs. A command that fails does not end the others."""
    arguments = _arguments()
    out = arguments.out.resolve()
    kernel = find_kernel(arguments.kernel)
    if not has_inproc(kernel):
        raise MissingError(f"kernel {kernel.release} cannot run user code in its own process", hint="--kernel 7.2")
    chosen = [comparison for comparison in comparisons(str(kernel.name)) if arguments.only in comparison.name]
    if not chosen:
        raise MissingError("there is nothing to compare", hint="name commands that exist")
    out.mkdir(parents=True, exist_ok=True)
    lines, is_same = ["| command | off and on |", "| --- | --- |"], True
    with StderrReporter() as progress:
        for comparison in chosen:
            progress.stage(comparison.name)
            try:
                difference = measure(comparison, out)
            except LabError as error:
                details: tuple[str, ...] = (str(error.hint),)
                is_same, result = False, error.message
            else:
                is_same = is_same and bool(difference.compared) and not difference.files
                result, details = str(difference), difference.files[:5]
            lines.append(f"| {comparison.name} | {result} |")
            for detail in details:
                print(f"{comparison.name}: {detail}", file=sys.stderr)
            (out / "report.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    return 0 if is_same else 1


if __name__ == "__main__":
    run_main(main)
