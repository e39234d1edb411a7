# SPDX-License-Identifier: MIT
"""The causes of differences between the lab and a stock kernel: one thing varied, on both sides.

The case is two lines of 100 Mbit/s, where a stock kernel gets less than the lab.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.fidelity.forms import ROOT
from bench.fidelity.gather import GOODPUT_MARGIN, compared, rows_of

_SCENARIO = ROOT / "examples" / "two-paths.toml"
_ALWAYS = ("transport.protocol=mptcp", "workloads.bulk.duration=3 s")
_LAB, _STOCK = "virtual", "stock:7.2"
#: What is varied, in words, and the settings that do it.
CAUSES: dict[str, tuple[str, ...]] = {
    "nothing": (),
    "buckets of 4 kB": ("links.link*.burst=4 kB",),
    "buckets of 15 kB": ("links.link*.burst=15 kB",),
    "20 Mbit/s per line": ("links.link*.rate=20 Mbit/s",),
    "the receiver reads at once": ("workloads.bulk.read_quantum=0 ms",),
}


def run_causes(out: Path, *, repeats: int) -> None:
    """Run all cases on both sides; recorded runs are not repeated. :raises CalledProcessError: if a run fails."""
    for name, settings in CAUSES.items():
        for engine in (_LAB, _STOCK):
            command = [sys.executable, "-m", "mptcplab", "run", str(_SCENARIO), "--engine", engine, "--jobs", "1"]
            command += [word for setting in (*_ALWAYS, *settings) for word in ("--set", setting)]
            command += ["--repeats", str(repeats), "--out", str(_folder(out, name, engine))]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def gathered_causes(out: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the comparison of goodput in each case that has run."""
    found = {}
    for name in CAUSES:
        folders = [_folder(out, name, engine) for engine in (_LAB, _STOCK)]
        if all((folder / "results.json").exists() for folder in folders):
            document = compared([*map(str, folders), "--json", "--margin", str(GOODPUT_MARGIN)])
            found[name] = list(rows_of(document))
    return found


def _folder(out: Path, name: str, engine: str) -> Path:
    return out / "causes" / name.replace(" ", "-").replace("/", "-") / engine.partition(":")[0]
