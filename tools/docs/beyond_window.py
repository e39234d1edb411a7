# SPDX-License-Identifier: MIT
"""Count the runs that dropped data beyond the connection's window: ``python -m tools.docs.beyond_window FOLDER...``.

Mainline's sender has a bug by which it transmits beyond the window that its peer granted
(kernel/upstream/README.md); the peer drops that data and counts it (``MPTcpExtNoDSSInWindow``). Each FOLDER was
written by ``mptcplab run`` or ``mptcplab reproduce``; all its recordings count. The table of docs/limitations.md has
only the runs behind the pages' tables.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tools.docs.making.pages import table_of as markdown

from mptcplab.recording.record import is_complete

COUNTER = "MPTcpExtNoDSSInWindow"
_HEAD = ("scenario", "scheduler", "runs", "with drops", "min", "max")


def count_dropped(run: Path) -> int:
    """Return the number of segments beyond the window that all hosts of a recorded run dropped."""
    counts = (json.loads(file.read_text()) for file in sorted(run.glob("counters/*/nstat.json")))
    return sum(int(count["kernel"].get(COUNTER, 0)) for count in counts)


def recordings(folder: Path) -> list[Path]:
    """Return all complete recordings below a folder of results."""
    return [run for run in sorted(folder.glob("**/runs/*")) if is_complete(run)]


def runs_by_scheduler(document: dict[str, Any]) -> dict[str, set[str]]:
    """Return the runs of a results.json in which MPTCP sent, by the scheduler recorded for its sockets."""
    runs: dict[str, set[str]] = {}
    for row in document["rows"]:
        if row["scheduler"]:
            runs.setdefault(row["scheduler"], set()).update(row["runs"])
    return runs


def table_of(folders: Iterable[Path]) -> str:
    """Return a table with a row for each scenario and scheduler with drops, and one for all others."""
    lines, others = [], 0
    for folder in folders:
        for scheduler, names in runs_by_scheduler(json.loads((folder / "results.json").read_text())).items():
            counts = [count_dropped(folder / "runs" / name) for name in names]
            if any(counts):
                lines.append([folder.name, f"`{scheduler}`", *_numbers(counts)])
            else:
                others += len(counts)
    return markdown(_HEAD, [*lines, ["all others", "", str(others), "0", "0", "0"]])


def _numbers(counts: list[int]) -> list[str]:
    """Return the number of runs, of those with drops, and the smallest and largest number of drops of these."""
    some = [count for count in counts if count]
    return [str(len(counts)), str(len(some)), str(min(some)), str(max(some))]


def _describe(folders: Iterable[Path]) -> Iterator[str]:
    for folder in folders:
        counts = [count_dropped(run) for run in recordings(folder)]
        yield f"{folder}: {sum(map(bool, counts))} of {len(counts)} runs, at most {max(counts, default=0)} segments"


def main() -> None:
    """Print a line for each folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    print(*_describe(parser.parse_args().folders), sep="\n")


if __name__ == "__main__":
    main()
