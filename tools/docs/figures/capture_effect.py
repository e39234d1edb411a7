# SPDX-License-Identifier: MIT
"""The table of docs/captures.md about the effect of capturing: the same seeds with four captures and without."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from mptcplab.stats import mean_interval

_CASES = {
    "20 and 5 Mbit/s, 0.5 % loss on one path": ("20 Mbit/s", "5 Mbit/s", "0.5 %"),
    "two paths of 100 Mbit/s, no loss": ("100 Mbit/s", "100 Mbit/s", "0 %"),
    "two paths of 100 Mbit/s, 0.5 % loss on one": ("100 Mbit/s", "100 Mbit/s", "0.5 %"),
}
_SCENARIO = """
title = "Effect of capturing"
repeats = 6
topology = {{ preset = "disjoint-paths" }}
links.link1 = {{ rate = "{first}", delay = "10 ms" }}
links.link2 = {{ rate = "{second}", delay = "20 ms", loss = "{loss}" }}
workloads.bulk = {{ kind = "flow", from = "client", to = "server", duration = "10 s" }}
"""
_CAPTURES = 'record.captures=[{ node = "client" }, { node = "server" }]'


def table_of(work: Path) -> str:
    """Return the differences of goodput in percent, and those among seeds."""
    lines = ["| scenario | largest difference of one run | mean difference | seeds among themselves |"]
    lines.append("| --- | --- | --- | --- |")
    for number, (name, (first, second, loss)) in enumerate(_CASES.items(), start=1):
        folder = work / "capturing"
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"case{number}.toml"
        file.write_text(_SCENARIO.format(first=first, second=second, loss=loss))
        without = _goodputs(file, folder / f"case{number}-without")
        captured = _goodputs(file, folder / f"case{number}-with", "--set", _CAPTURES)
        differences = [100 * (duration / other - 1) for duration, other in zip(captured, without, strict=True)]
        mean = mean_interval(differences)
        spread = 100 * (max(without) / min(without) - 1)
        largest = max(map(abs, differences))
        lines.append(
            f"| {name} | {largest:.2g} % | {mean.mean:.2g} ± {mean.half_width or 0:.2g} % | up to {spread:.2g} % |"
        )
    return "\n".join(lines) + "\n"


def _goodputs(file: Path, out: Path, *options: str) -> list[float]:
    command = [sys.executable, "-m", "mptcplab", "run", str(file), "--out", str(out), *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (row,) = json.loads((out / "results.json").read_text())["rows"]
    return [float(value) for value in row["goodput_mbps"]["values"]]
