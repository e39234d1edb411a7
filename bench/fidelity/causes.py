# SPDX-License-Identifier: MIT
"""The causes of differences between the lab and a stock kernel: one thing varied, on both sides.

The case is two lines of 100 Mbit/s, where a stock kernel gets less than the lab: a flow for a given time, and a file,
whose time includes the start of a program.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.fidelity.forms import ROOT
from bench.fidelity.gather import GOODPUT_MARGIN, compared, rows_of

_ALWAYS = "transport.protocol=mptcp"
_LAB, _STOCK = "virtual", "stock:7.2"
_BUCKETS = "links.link*.burst=15 kB"
#: The workload of both scenarios.
_WORKLOAD = "bulk"


@dataclass(frozen=True)
class Case:
    """A variation of an example by settings."""

    example: str
    settings: Sequence[str]

    @property
    def sized(self) -> list[str]:
        """The workloads whose duration is a result."""
        return [_WORKLOAD] if self.example == "transfer" else []


def _flow(*settings: str) -> Case:
    return Case("two-paths", ("workloads.bulk.duration=3 s", *settings))


def _file(size: str) -> Case:
    return Case("transfer", (f"workloads.bulk.size={size}", _BUCKETS))


#: By what is varied, in words.
CAUSES: dict[str, Case] = {
    "nothing": _flow(),
    "buckets of 4 kB": _flow("links.link*.burst=4 kB"),
    "buckets of 15 kB": _flow(_BUCKETS),
    "20 Mbit/s per line": _flow("links.link*.rate=20 Mbit/s"),
    "the receiver reads at once": _flow("workloads.bulk.read_quantum=0 ms"),
    "a file of 5 MB with buckets of 15 kB": _file("5 MB"),
    "a file of 20 MB with buckets of 15 kB": _file("20 MB"),
}


def run_causes(out: Path, *, repeats: int) -> None:
    """Run all cases on both sides; recorded runs are not repeated. :raises CalledProcessError: if a run fails."""
    for name, case in CAUSES.items():
        scenario = ROOT / "examples" / f"{case.example}.toml"
        for engine in (_LAB, _STOCK):
            command = [sys.executable, "-m", "mptcplab", "run", str(scenario), "--engine", engine, "--jobs", "1"]
            command += [word for setting in (_ALWAYS, *case.settings) for word in ("--set", setting)]
            command += ["--repeats", str(repeats), "--out", str(_folder(out, name, engine))]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def gathered_causes(out: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the comparison of goodput, and of a file's time, in each case that has run."""
    found = {}
    for name, case in CAUSES.items():
        folders = [_folder(out, name, engine) for engine in (_LAB, _STOCK)]
        if all((folder / "results.json").exists() for folder in folders):
            words = ["--json", "--margin", str(GOODPUT_MARGIN), "--metric", "goodput", "--metric", "duration"]
            found[name] = list(rows_of(compared([*map(str, folders), *words]), case.sized))
    return found


def _folder(out: Path, name: str, engine: str) -> Path:
    return out / "causes" / name.replace(" ", "-").replace("/", "-") / engine.partition(":")[0]
