# SPDX-License-Identifier: MIT
"""``python -m bench.large``: a file of 5.4 GB through a terminal and its gateway, by program and cipher.

Each run is `examples/gateways/large-file.toml` on one CPU. Memory is the largest process's, pages of its shared
memory included, which is the whole memory of the lab's nodes.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench import lab, machines
from bench.usage import measure_usage
from mptcplab.campaign.record import prepare_engines
from mptcplab.errors import LabError
from mptcplab.gateway.registry import PROGRAMS
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.model import Plan
from mptcplab.scenario.load import load
from mptcplab.units import Size

FILE = Path(__file__).with_name("large.json")
_SCENARIO = Path(__file__).parents[1] / "examples" / "gateways" / "large-file.toml"
_GATEWAY = "gateways.bond"
_KIB = 1024
#: Programs with their ciphers: none where there is one, and each program's default.
CASES = (
    ("go-shadowsocks2", "none"),
    ("go-shadowsocks2", "aes-256-gcm"),
    ("shadowsocks-libev", "aes-256-gcm"),
    ("shadowsocks-rust", "none"),
    ("xray", "none"),
)


@dataclass(frozen=True)
class LargeRow:
    """One run: goodput in virtual time, wall and CPU seconds, and the memory of the largest process."""

    program: str
    cipher: str
    size: str
    goodput_mbps: float
    wall_s: float
    cpu_s: float
    memory_mib: float


def _plan(program: str, cipher: str, size: str) -> tuple[Plan, Any]:
    settings = [f"{_GATEWAY}.program={program}", f"{_GATEWAY}.cipher={cipher}", f"workloads.fetch.size={size}"]
    run = load(_SCENARIO, overrides=settings, seed=1).runs[0]
    return compile_plan(run.point.scenario, seed=run.seed), prepare_engines([run]).engine_for(run)


def measure(program: str, cipher: str, size: str) -> LargeRow:
    """Execute one run and measure it. :raises LabError: if it fails."""
    plan, engine = _plan(program, cipher, size)

    def work() -> dict[str, float]:
        with tempfile.TemporaryDirectory(prefix="mptcplab-bench-") as folder:
            outcome = engine.execute(plan, seed=1, folder=Path(folder), cpu=lab.cpu())
        client = next(program for program in outcome.programs if program["name"] == "fetch.client")
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        return {"seconds": (client["end_ns"] - client["start_ns"]) / 1e9, "memory_mib": memory / _KIB}

    document, usage = measure_usage(work)
    goodput = 8 * float(Size.parse(size)) / document["seconds"] / 1e6
    return LargeRow(program, cipher, size, goodput, usage.wall, usage.cpu, document["memory_mib"])


def table(file: Path = FILE) -> str:
    """Return the table of docs/gateways.md from what ``--write`` wrote."""
    return text([LargeRow(**row) for row in json.loads(file.read_text())["rows"]])


def text(rows: Sequence[LargeRow]) -> str:
    """Return the rows as Markdown. The wall time says something only of an idle machine, the CPU time little more."""
    lines = ["| program | cipher | Mbit/s | wall s | CPU s | MiB |", "| --- | --- | ---: | ---: | ---: | ---: |"]
    for row in rows:
        cells = (f"{value:.0f}" for value in (row.goodput_mbps, row.wall_s, row.cpu_s, row.memory_mib))
        lines.append(f"| {row.program} | {row.cipher} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and print or write the rows."""
    parser = argparse.ArgumentParser(prog="python -m bench.large", description=__doc__)
    parser.add_argument("--size", default="5.4 GB", help="size of the file; default 5.4 GB")
    parser.add_argument("--program", choices=sorted(PROGRAMS), action="append", help="only this program; repeatable")
    parser.add_argument("--write", type=Path, metavar="FILE", help="also write the rows as JSON")
    arguments = parser.parse_args()
    before, rows = os.getloadavg()[0], []
    try:
        for program, cipher in CASES:
            if not arguments.program or program in arguments.program:
                rows.append(measure(program, cipher, arguments.size))
                print(rows[-1], file=sys.stderr, flush=True)
    except LabError as error:
        print(f"python -m bench.large: {error.message}\n  hint: {error.hint}", file=sys.stderr)
        sys.exit(error.status)
    print(text(rows), end="")
    if arguments.write:
        load_average = [before, os.getloadavg()[0]]
        document = {"machine": machines.present(), "load": load_average, "rows": list(map(asdict, rows))}
        arguments.write.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
