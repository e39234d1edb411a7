# SPDX-License-Identifier: MIT
"""``python -m tests.smp --minutes N``: random events on a kernel with several CPUs. Status 1 means that it complained.

build/smp/VARIANT/console.txt      the kernel's output
                  report.json      the guest's report
                  complaints.txt   complaints that are not known to be mainline's own

``--record`` adds the outcome to tests/smp/outcomes.json, of which the documentation has a table.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tests.smp.complaints import complaints_in, known_complaints, unknown
from tests.smp.guest.choices import CONGESTION_CONTROLS, SCHEDULERS
from tests.smp.kernel import VARIANTS, build
from tests.smp.machine import CONSOLE, Machine
from tests.smp.outcomes import outcome_of, record

from mptcplab.engine.tools import flow_program
from mptcplab.errors import LabError
from mptcplab.kernel.console import StderrReporter


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.smp", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--minutes", type=float, default=60.0, help="minutes of random events, by the guest's clock")
    parser.add_argument("--variant", choices=VARIANTS, default="lockdep", help="the kernel's own checks")
    parser.add_argument(
        "--plain", action="store_true", help="build a kernel without our code: its complaints are mainline's own"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the random events")
    parser.add_argument("--cpus", type=int, default=4, help="CPUs of the guest")
    parser.add_argument("--jobs", type=int, help="compilers to run in parallel; default: one per CPU")
    parser.add_argument("--out", type=Path, default=Path("build/smp"), help="parent of a folder for each variant")
    parser.add_argument("--record", action="store_true", help="add the outcome to tests/smp/outcomes.json")
    arguments: argparse.Namespace = parser.parse_args()
    return arguments


def _unused_algorithms(report: dict[str, Any]) -> list[str]:
    """Return the algorithms that no observed connection used."""
    names = [f"congestion control {name}" for name in CONGESTION_CONTROLS] + [
        f"scheduler {name}" for name in SCHEDULERS
    ]
    return [name for name in names if f"seen: {name}" not in report["done"]]


def _print(report: dict[str, Any]) -> None:
    print(f"{report['kernel']}, {report['cpus']} CPUs, {report['seconds']} s")
    for name, count in report["done"].items():
        print(f"{count:9}  {name}")
    for node, counters in report["counters"].items():
        print(f"{node}: " + ", ".join(f"{name.removeprefix('MPTcpExt')} {count}" for name, count in counters.items()))


def main() -> int:
    """Build, run, and report."""
    arguments = _arguments()
    with StderrReporter() as progress:
        image = build(arguments.variant, progress, plain=arguments.plain, jobs=arguments.jobs)
        progress.stage(f"{arguments.minutes:g} minutes of random events")
        out = arguments.out.resolve() / (arguments.variant + ("-plain" if arguments.plain else ""))
        machine = Machine(image, flow_program(), out, arguments.seed, arguments.minutes * 60, arguments.cpus)
        try:
            report = machine.run()
        finally:
            complaints = complaints_in((out / CONSOLE).read_text(errors="replace"))
            left = unknown(complaints, {} if arguments.plain else known_complaints())
            (out / "complaints.txt").write_text("\n\n".join(complaint.text for complaint in left))
            for title, count in Counter(complaint.title for complaint in left).items():
                print(f"{count} times: {title}")
    _print(report)
    known = len(complaints) - len(left)
    print(f"{known} known complaints of mainline's own, {len(left)} other complaints")
    if arguments.record:
        options = {"variant": arguments.variant, "is_plain": arguments.plain, "seed": arguments.seed}
        record(outcome_of(report, **options, complaints=[complaint.title for complaint in left], known=known))
    if missing := [] if arguments.plain else _unused_algorithms(report):
        print(f"smp: no connection used {', '.join(missing)}\n  hint: run longer", file=sys.stderr)
    if killed := report["processes killed"]:
        hint = f"{out / CONSOLE} shows where each task was waiting"
        print(f"smp: {killed} of the guest's processes did not end\n  hint: {hint}", file=sys.stderr)
    return 1 if left or missing or killed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except LabError as error:
        print(f"smp: {error.message}\n  hint: {error.hint}", file=sys.stderr)
        sys.exit(error.status)
