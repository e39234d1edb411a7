# SPDX-License-Identifier: MIT
"""The command line and the file of rows of the programs that show one reason each."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from mptcplab.errors import LabError

T = TypeVar("T")


def rows_of_file(file: Path, kind: type[T]) -> list[T]:
    """Return the rows of a file, as instances of a dataclass; nothing before it is there."""
    return [kind(**row) for row in json.loads(file.read_text())["rows"]] if file.exists() else []


def measure(
    module: str, description: str | None, measured: Callable[[argparse.Namespace], Iterable[Any]], *, seeds: int = 0
) -> None:
    """Measure rows, which are dataclasses, print them, and write them if a file is given; exit if a run fails.

    ``measured`` is given the options: the folder of the runs, and, if there are ``seeds`` by default, their number.
    """
    program = f"python -m {module}"
    folder = Path("results") / module.removeprefix("validation.").replace(".", "-")
    parser = argparse.ArgumentParser(prog=program, description=description)
    if seeds:
        parser.add_argument(
            "--seeds", type=int, default=seeds, help="runs with the seeds 1 to this; default %(default)s"
        )
    parser.add_argument("--out", type=Path, default=folder, help="folder of the runs")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the rows into this JSON file")
    arguments = parser.parse_args()
    rows = []
    try:
        for row in measured(arguments):
            print(row, file=sys.stderr, flush=True)
            rows.append(asdict(row))
    except LabError as error:
        print(f"{program}: {error.message}\n  hint: {error.hint}", file=sys.stderr)
        sys.exit(error.status)
    if arguments.write:
        arguments.write.write_text(json.dumps({"rows": rows}, indent=1) + "\n")
