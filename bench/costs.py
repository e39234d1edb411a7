# SPDX-License-Identifier: MIT
"""``python -m bench.costs --before CHECKOUT``: what a lab costs as it grows, beside an earlier version, and why.

Each point of a curve of bench/curves.py runs in turns with both versions; almost the same lab without traffic is
subtracted. One more run of this version is sampled by `perf`, which needs the Debian package linux-perf.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tools.docs.making.pages import table_of

from bench import curves, lab, machines, profile, versions
from bench.extent import FULL, SMOKE, Extent

FILE = Path(__file__).with_name("costs.json")


@dataclass
class Side:
    """CPU seconds of a point with one version, per repeat: of the lab, and of the one almost without traffic."""

    full: list[float] = field(default_factory=list)
    empty: list[float] = field(default_factory=list)

    @property
    def carrying_s(self) -> float:
        """The median of the traffic's CPU seconds."""
        return max(statistics.median(self.full) - statistics.median(self.empty), 1e-6)


@dataclass
class CostPoint:
    """A position of a curve with both versions, and what takes the time with this one: shares by part."""

    label: str
    packet_hops: int
    now: Side = field(default_factory=Side)
    before: Side = field(default_factory=Side)
    parts: dict[str, float] = field(default_factory=dict)


def measure(
    name: str, earlier: Path, repeats: int, report: Callable[[str], None], extent: Extent = FULL
) -> list[CostPoint]:
    """Return the points of a curve; ``earlier`` is the source of the version to compare with."""
    points = []
    with tempfile.TemporaryDirectory(prefix="mptcplab-bench-") as folder:
        for case in curves.cases_of(name, extent):
            full, empty = Path(folder, "full.toml"), Path(folder, "empty.toml")
            full.write_text(case.full)
            empty.write_text(case.empty)
            sent = [lab.measure(lab.workload_of(text)).packet_hops for text in (case.full, case.empty)]
            point = CostPoint(case.label, sent[0] - sent[1])
            for _ in range(repeats):
                for side, source in ((point.now, versions.ROOT / "src"), (point.before, earlier)):
                    side.full.append(versions.run(full, source)[1])
                    side.empty.append(versions.run(empty, source)[1])
            point.parts = profile.shares(case.full)
            report(f"{name}: {' | '.join(_cells(point))}")
            points.append(point)
    return points


def table(name: str) -> str:
    """Return the table of a curve from the file of the last measurement."""
    points = [_read(row) for row in json.loads(FILE.read_text())["curves"][name]]
    head = [curves.AXES[name], "us per packet and hop", "before", "times faster", "without traffic, s", "before"]
    return table_of([*head, *profile.PARTS], [_cells(point) for point in points])


def _read(row: dict[str, Any]) -> CostPoint:
    sides = {side: Side(**row[side]) for side in ("now", "before")}
    return CostPoint(row["label"], row["packet_hops"], **sides, parts=row["parts"])


def _cells(point: CostPoint) -> list[str]:
    now, earlier = point.now.carrying_s, point.before.carrying_s
    return [
        point.label,
        *(f"{1e6 * seconds / point.packet_hops:.2f}" for seconds in (now, earlier)),
        f"{earlier / now:.1f}",
        *(f"{statistics.median(side.empty):.2f}" for side in (point.now, point.before)),
        *(f"{point.parts[part]:.0%}".replace("%", " %") for part in profile.PARTS),
    ]


def main() -> None:
    """Measure, and print or write the costs."""
    parser = argparse.ArgumentParser(prog="python -m bench.costs", description=__doc__)
    parser.add_argument(
        "--before", type=Path, required=True, help="checkout of the earlier version, with its lab kernel"
    )
    parser.add_argument("--repeats", type=int, default=3, help="repeats of every run; default %(default)s")
    parser.add_argument("--only", choices=curves.AXES, action="append", help="measure only this curve; repeatable")
    parser.add_argument("--smoke", action="store_true", help="the shortest form: a check, not a measurement")
    parser.add_argument("--write", action="store_true", help=f"write {FILE.name}, in which other curves stay")
    arguments = parser.parse_args()
    if not (arguments.before / "src" / "mptcplab").is_dir():
        parser.error(f"--before: {arguments.before} is not a checkout of mptcplab")
    if arguments.write and arguments.smoke:
        parser.error("--write: the shortest form measures nothing; leave --smoke out")
    if shutil.which(profile.PERF) is None:
        parser.error(f"{profile.PERF} is not installed: sudo apt-get install linux-perf")
    document: dict[str, Any] = {"curves": {}}
    if arguments.write and FILE.exists():
        document = json.loads(FILE.read_text())
    document["machine"] = machines.present()
    extent = SMOKE if arguments.smoke else FULL
    for name in arguments.only or curves.AXES:
        points = measure(name, arguments.before / "src", arguments.repeats, _report, extent)
        document["curves"][name] = [asdict(point) for point in points]
        if arguments.write:
            FILE.write_text(json.dumps(document, indent=1) + "\n")


def _report(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
