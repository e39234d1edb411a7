# SPDX-License-Identifier: MIT
"""Blind collections for ``mptcplab fit``: two lines are drawn, and what an operator would collect of them is recorded.

The lines are drawn by this program alone. A lab has them; in it run the collector's own script, a speed test of each
line, and a transfer by MPTCP, with the machine's own ``ss``, ``ip``, ``nstat`` and ``tcpdump``. The fit sees nothing
but the archive.
"""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent / "programs"
_SEED = "lines of operators"
#: Connections of a speed test, its seconds, and those of the transfer and of the whole collection.
_CONNECTIONS, _TEST_S, _TRANSFER_S, _COLLECT_S = 64, 4, 8, 22
_SCENARIO = """title = "Two lines that were drawn"

[topology]
preset = "disjoint-paths"
paths = 2

[transport]
protocol = "mptcp"
tcp_rmem = ["4096 B", "131072 B", "64 MiB"]
tcp_wmem = ["4096 B", "16384 B", "64 MiB"]

{links}
[workloads.transfer]
kind = "flow"
from = "client"
to = "server"
duration = "{seconds} s"
"""
_WORK = """cd /run/out
cp {folder}/collect.sh /tmp
ip netns exec server python3 {programs}/speedtest.py serve 6001 &
ip netns exec server mptcpize run iperf3 -s -D -p 5203 >/dev/null
sh /tmp/collect.sh -t {total} -i 1 -n 900000 -o client >/dev/null &
collection=$!
sleep 1
python3 {programs}/speedtest.py 10.0.1.1 10.0.2.2 6001 {connections} {test}
sleep 1
python3 {programs}/speedtest.py 10.0.3.1 10.0.4.2 6001 {connections} {test}
sleep 1
mptcpize run iperf3 -c 10.0.2.2 -t {transfer} -p 5203 -J >transfer.json
wait $collection
"""


@dataclass(frozen=True)
class DrawnLine:
    """One line: rate in bit/s, round trip and queue in ns, random loss in parts per billion."""

    rate: int
    rtt_ns: int
    queue_ns: int
    loss_ppb: int

    def table(self, name: str) -> str:
        """Return it as the scenario's link, in the direction of the payload."""
        lines = [f"[links.{name}]", f'delay = "{self.rtt_ns // 2} ns"', f"[links.{name}.forward]"]
        lines += [f'rate = "{self.rate} bit/s"', f'queue = "{self.queue_ns} ns"']
        lines += [f'loss = "{self.loss_ppb} ppb"'] if self.loss_ppb else []
        return "\n".join(lines) + "\n"


def draw_lines(number: int) -> tuple[DrawnLine, DrawnLine]:
    """Return the two lines of a collection: 2 to 200 Mbit/s, 5 to 150 ms, queues of 20 to 500 ms, loss up to 0.5 %."""
    draw = random.Random(f"{_SEED} {number}")

    def between(low: float, high: float) -> float:
        return math.exp(draw.uniform(math.log(low), math.log(high)))

    def line() -> DrawnLine:
        rate, rtt, queue = between(2e6, 200e6), between(5e6, 150e6), between(20e6, 500e6)
        loss = draw.uniform(0, 0.005) if draw.random() < 0.5 else 0
        return DrawnLine(round(rate / 1000) * 1000, round(rtt / 2000) * 2000, round(queue), round(loss * 1e9))

    return line(), line()


def scenario_text(lines: tuple[DrawnLine, DrawnLine], seconds: int = _TRANSFER_S) -> str:
    """Return the scenario with the drawn lines and one transfer."""
    links = "\n".join(line.table(f"link{place}") for place, line in enumerate(lines, start=1))
    return _SCENARIO.format(links=links, seconds=seconds)


def collect(number: int, folder: Path) -> Path:
    """Record a collection, and return its archive. A folder that has one is not recorded again."""
    archive = folder / "out" / "client.tar.gz"
    if archive.is_file():
        return archive
    folder.mkdir(parents=True, exist_ok=True)
    lines = draw_lines(number)
    (folder / "truth.toml").write_text(scenario_text(lines))
    (folder / "truth.json").write_text(json.dumps([asdict(line) for line in lines]))
    (folder / "collect.sh").write_text(resources.files("mptcplab.explain").joinpath("collect.sh").read_text())
    work = _WORK.format(
        folder=folder,
        programs=PROGRAMS,
        connections=_CONNECTIONS,
        test=_TEST_S,
        transfer=_TRANSFER_S,
        total=_COLLECT_S,
    )
    (folder / "work.sh").write_text(work)
    words = [sys.executable, "-m", "mptcplab", "exec", "--scenario", "truth.toml", "--on", "client", "--no-stdin"]
    words += ["--expose", str(PROGRAMS), "--out", "out", "--stall", "120 s", "--", "sh", "work.sh"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, env=dict(os.environ))
    assert archive.is_file(), f"collection {number}: status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return archive


if __name__ == "__main__":
    for index in range(int(sys.argv[1]), int(sys.argv[2]) + 1):
        print(collect(index, Path(sys.argv[3]).resolve() / f"{index:02}"), flush=True)
