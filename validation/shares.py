# SPDX-License-Identifier: MIT
"""``python -m validation.shares``: shares of MPTCP beside one TCP flow on stock kernels, with eBPF.

Each run is `examples/behaviour/rfc6356-shared-bottleneck.toml` with two subflows and one TCP flow. Finished runs are
kept in the results folder, so an interrupted command continues where it stopped, and more seeds only add runs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path

from mptcplab import api
from mptcplab.errors import LabError
from mptcplab.report.table import interval_text
from mptcplab.scenario.load import load
from mptcplab.stats import Interval, mean_interval

FILE = Path(__file__).with_name("shares.json")
_ROOT = Path(__file__).parents[1]
_SCENARIO = _ROOT / "examples/behaviour/rfc6356-shared-bottleneck.toml"
#: A stock kernel cannot be given the example's scheduler, so no engine is.
_POINT = ("transport.scheduler=default", "topology.paths=2", "workloads.tcp.connections=1")
CONTROLS = {"reno": "uncoupled Reno", "lia": "LIA", "olia": "OLIA", "balia": "BALIA"}
#: Engines by the words of the table. The lab kernel is for comparison.
ENGINES = ("stock:6.12", "stock:7.2", "virtual")


@dataclass(frozen=True)
class ShareRow:
    """One run: goodput of the MPTCP connection and of the TCP flow beside it."""

    engine: str
    release: str
    control: str
    seed: int
    mptcp_mbps: float
    tcp_mbps: float

    @property
    def ratio(self) -> float:
        """The goodput of MPTCP as a multiple of TCP's."""
        return self.mptcp_mbps / self.tcp_mbps


def measure(engine: str, control: str, seed: int, folder: Path) -> ShareRow:
    """Return the result of one run, which is executed unless it is in ``folder``. :raises LabError: if it fails."""
    overrides = (*_POINT, f"hosts.client.transport.congestion_control={control}")
    runs = load(_SCENARIO, overrides=overrides, seed=seed, repeats=1).runs
    (done,) = api.execute_runs(runs, folder, jobs=1, engine=engine)
    assert done.result is not None
    mbps = {measurement.workload: measurement.metrics["goodput_mbps"] for measurement in done.result.measured}
    return ShareRow(engine, done.result.kernel, control, seed, mbps["mptcp"], mbps["tcp"])


def ratios(rows: Sequence[ShareRow]) -> Mapping[tuple[str, str], Interval]:
    """Return mean and interval of the ratio by engine and congestion control, in order."""
    ordered = sorted(rows, key=lambda row: (ENGINES.index(row.engine), list(CONTROLS).index(row.control)))
    groups = groupby(ordered, key=lambda row: (row.engine, row.control))
    return {key: mean_interval([row.ratio for row in group]) for key, group in groups}


def read(file: Path) -> list[ShareRow]:
    """Return the rows of a file; none if it does not exist."""
    return [ShareRow(**row) for row in json.loads(file.read_text())["rows"]] if file.exists() else []


def join_rows(old: Sequence[ShareRow], new: Sequence[ShareRow]) -> list[ShareRow]:
    """Return all rows; of the same engine, control and seed, the new one."""
    return list({(row.engine, row.control, row.seed): row for row in (*old, *new)}.values())


def table(file: Path = FILE) -> str:
    """Return the table of docs/ebpf.md, from what ``--write`` wrote."""
    rows = read(file)
    intervals = ratios(rows)
    lines = [
        f"| kernel | {' | '.join(CONTROLS.values())} | n |",
        f"|{' --- |' * (len(CONTROLS) + 2)}",
    ]
    for engine in ENGINES:
        of_engine = [intervals[engine, control] for control in CONTROLS if (engine, control) in intervals]
        if not of_engine:
            continue
        release = next(row.release for row in rows if row.engine == engine)
        name = f"lab kernel {release}" if engine == "virtual" else f"Debian's {release}"
        counts = sorted({interval.n for interval in of_engine})
        span = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
        cells = (interval_text(intervals[engine, name]) if (engine, name) in intervals else "" for name in CONTROLS)
        lines.append(f"| {name} | {' | '.join(cells)} | {span} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and print or write the rows."""
    parser = argparse.ArgumentParser(prog="python -m validation.shares", description=__doc__)
    parser.add_argument("--engine", choices=ENGINES, action="append", help="only this engine; repeatable")
    parser.add_argument("--control", choices=CONTROLS, action="append", help="only this control; repeatable")
    parser.add_argument("--seeds", type=int, default=8, help="runs with the seeds 1 to this; default 8")
    parser.add_argument("--out", type=Path, default=_ROOT / "results/bench/shares", help="folder of the runs")
    parser.add_argument("--write", type=Path, metavar="FILE", help="also put the rows into this JSON file")
    arguments = parser.parse_args()
    rows: list[ShareRow] = []
    for seed in range(1, arguments.seeds + 1):
        for engine in arguments.engine or ENGINES:
            for control in arguments.control or CONTROLS:
                try:
                    rows.append(measure(engine, control, seed, arguments.out))
                except LabError as error:
                    print(f"python -m validation.shares: {error.message}\n  hint: {error.hint}", file=sys.stderr)
                    sys.exit(error.status)
                print(f"{engine} {control} seed {seed}: ratio {rows[-1].ratio:.3f}", file=sys.stderr, flush=True)
        if arguments.write:
            document = {"rows": [asdict(row) for row in join_rows(read(arguments.write), rows)]}
            arguments.write.write_text(json.dumps(document, indent=1) + "\n")
    for (engine, control), interval in ratios(rows).items():
        print(f"{engine} {control}: {interval_text(interval)} (n = {interval.n})")


if __name__ == "__main__":
    main()
