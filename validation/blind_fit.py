# SPDX-License-Identifier: MIT
"""Blind collections for ``mptcplab fit``: two lines are drawn, and what an operator would collect of them is recorded.

The lines are drawn by this program alone. A lab has them; in it run the collector's own script, a speed test of each
line, and a transfer by MPTCP, with the machine's own ``ss``, ``ip``, ``nstat`` and ``tcpdump``. The fit sees nothing
but the archive.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mptcplab.api.twins import UNCHANGED, run_changes
from mptcplab.campaign.sweep import RunOptions
from mptcplab.explain.collector import collector_script
from mptcplab.fit.advise import Advice, Algorithms, Change, TransferOutcome, list_changes, rank
from mptcplab.fit.lines import FRAME, Line
from mptcplab.fit.observation import Observation, observe
from mptcplab.fit.twin import build_twin
from mptcplab.kernel.data import congestion_controls, schedulers
from mptcplab.scenario.writing import uncomment, write_scenario

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "tests" / "lab" / "programs"
#: Collections of each set in docs/fit.md.
COLLECTIONS = 20
#: Connections of a speed test, its seconds, and the seconds of the transfer and of the whole collection.
_CONNECTIONS, _TEST_S, _TRANSFER_S, _COLLECT_S = 64, 4, 8, 22
#: A fitted value is good within this share, and a queue also within a frame, which is all that can be seen of it.
TOLERANCE = 0.10
#: Changes that are tried on each twin: one of each part, so that all collections take hours and not days.
_TRIED = (
    "congestion control bbr",
    "scheduler roundrobin",
    "fq_codel at every bottleneck",
    "larger buffers at both ends",
)
_REPEATS = 3
_SCENARIO = """title = "Two lines that were drawn"

[topology]
preset = "disjoint-paths"
paths = 2

[transport]
protocol = "mptcp"
tcp_rmem = ["4096 B", "131072 B", "{buffer} MiB"]
tcp_wmem = ["4096 B", "16384 B", "{buffer} MiB"]

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


@dataclass(frozen=True)
class Truth:
    """What one collection is made of: two lines, and the largest buffer of a socket at both ends in MiB."""

    lines: tuple[DrawnLine, DrawnLine]
    buffer_mib: int

    def scenario_text(self, seconds: int = _TRANSFER_S) -> str:
        """Return the scenario with the drawn lines and one transfer."""
        links = "\n".join(line.table(f"link{place}") for place, line in enumerate(self.lines, start=1))
        return _SCENARIO.format(links=links, seconds=seconds, buffer=self.buffer_mib)


@dataclass(frozen=True)
class CollectionSet:
    """Twenty collections that are drawn in one manner: how each is drawn, and the changes that are tried."""

    name: str
    draw: Callable[[int], Truth]
    tried: tuple[str, ...]

    @property
    def file(self) -> Path:
        """Return the file that has the recorded results."""
        return Path(__file__).with_name(f"blind_fit_{self.name}.json")


def draw_operators(number: int) -> Truth:
    """Draw 2 to 200 Mbit/s, 5 to 150 ms, queues of 20 to 500 ms, loss up to 0.5 % in half; large buffers."""
    draw = random.Random(f"lines of operators {number}")

    def draw_between(low: float, high: float) -> float:
        return math.exp(draw.uniform(math.log(low), math.log(high)))

    def line() -> DrawnLine:
        rate, rtt, queue = draw_between(2e6, 200e6), draw_between(5e6, 150e6), draw_between(20e6, 500e6)
        loss = draw.uniform(0, 0.005) if draw.random() < 0.5 else 0
        return DrawnLine(round(rate / 1000) * 1000, round(rtt / 2000) * 2000, round(queue), round(loss * 1e9))

    return Truth((line(), line()), 64)


def draw_products(number: int) -> Truth:
    """Draw rates near products, queues by the round trip, rare or frequent loss, and the buffers.

    The rate is within 15 % of a product's; the round trip is 8 to 120 ms, uniform; the queue 0.5 to 4 round trips,
    at least 15 ms; two lines of five lose 0.01 to 1 %, uniform in the logarithm; the largest buffer of a socket is 1,
    6 or 64 MiB.
    """
    draw = random.Random(f"products of carriers, 29 November 2026 {number}")

    def line() -> DrawnLine:
        rate = draw.choice((3e6, 6e6, 10e6, 16e6, 25e6, 40e6, 50e6, 75e6, 100e6)) * draw.uniform(0.85, 1.15)
        rtt = draw.uniform(8e6, 120e6)
        queue = max(rtt * draw.uniform(0.5, 4), 15e6)
        loss = math.exp(draw.uniform(math.log(1e-4), math.log(1e-2))) if draw.random() < 0.4 else 0
        return DrawnLine(round(rate / 1000) * 1000, round(rtt / 2000) * 2000, round(queue), round(loss * 1e9))

    return Truth((line(), line()), draw.choice((1, 6, 64)))


#: The first set, with which three rules of the fit were found.
OPERATORS = CollectionSet("operators", draw_operators, (*_TRIED, "TCP over the first line instead of MPTCP"))
#: The second set, drawn when the rules were fixed. To give up a line is not among its changes.
PRODUCTS = CollectionSet("products", draw_products, (*_TRIED, "congestion control lia"))
SETS = {drawn.name: drawn for drawn in (OPERATORS, PRODUCTS)}


def collect(truth: Truth, folder: Path) -> Path:
    """Record a collection, and return its archive. A folder that has one is not recorded again."""
    archive = folder / "out" / "client.tar.gz"
    if archive.is_file():
        return archive
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "truth.toml").write_text(truth.scenario_text())
    (folder / "truth.json").write_text(json.dumps(asdict(truth)))
    (folder / "collect.sh").write_text(collector_script())
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
    assert archive.is_file(), f"{folder}: status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return archive


def fit_lines(observation: Observation) -> list[Line]:
    """Return the fitted lines in the order of the truth: by the client's addresses, 10.0.1.1 before 10.0.3.1."""
    return sorted(observation.lines, key=lambda line: line.sender)


def line_errors(truth: DrawnLine, line: Line) -> dict[str, float]:
    """Return the relative errors of rate, round trip and queue, and the error of the queue in frames."""
    rate, rtt, queue = truth.rate, truth.rtt_ns / 1e9, truth.queue_ns / 1e9
    return {
        "rate": line.rate.value / rate - 1,
        "rtt": line.rtt.value / rtt - 1,
        "queue": line.queue.value / queue - 1,
        "queue_frames": (line.queue.value - queue) * rate / 8 / FRAME,
    }


def is_good(errors: dict[str, float]) -> bool:
    """Return whether rate and round trip are within the tolerance, and the queue within it or a frame."""
    queue = abs(errors["queue"]) <= TOLERANCE or abs(errors["queue_frames"]) <= 1
    return abs(errors["rate"]) <= TOLERANCE and abs(errors["rtt"]) <= TOLERANCE and queue


def fit_collection(truth: Truth, folder: Path) -> tuple[Observation, list[dict[str, Any]]]:
    """Record a collection unless it is there, fit it, and return truth, fitted values and errors of each line."""
    observation = observe([collect(truth, folder)])
    rows = []
    for drawn, line in zip(truth.lines, fit_lines(observation), strict=True):
        fitted = {"rate": float(line.rate.value), "rtt": float(line.rtt.value), "queue": float(line.queue.value)}
        kinds = {"rate": line.rate.kind, "rtt": line.rtt.kind, "queue": line.queue.kind}
        loss = {"value": float(line.loss.value), "low": line.loss.low, "high": line.loss.high}
        errors = {name: float(error) for name, error in line_errors(drawn, line).items()}
        rows.append({"truth": asdict(drawn), "fitted": fitted, "kinds": kinds, "loss": loss, "errors": errors})
    return observation, rows


def try_advice(folder: Path, observation: Observation, tried: tuple[str, ...]) -> dict[str, Any]:
    """Try the changes on the twin, and the advised one on the true lines.

    That is the most useful change that certainly helps; if none does, the change that certainly harms most; else
    the one with the largest effect, which is not certain. It is right if it has the same direction on the true lines,
    or if it is certain neither here nor there.
    """
    algorithms = Algorithms(sorted(congestion_controls()), sorted(schedulers()))
    commented = build_twin(observation, controls=algorithms.congestion_controls, schedulers=algorithms.schedulers)
    twin = uncomment(commented)
    changes = [change for change in list_changes(observation, twin, algorithms) if change.words in tried]
    (folder / "twin.toml").write_text(write_scenario(commented))
    advice = _rank_changes(folder / "twin.toml", twin, changes)
    certain = [row for row in advice if row.verdict == "helps"] or [row for row in advice if row.verdict == "harms"]
    chosen = max(certain or advice, key=lambda row: abs(row.gain))
    true = tomllib.loads((folder / "truth.toml").read_text())
    true["workloads"] = twin["workloads"]
    # The lines of the twin may be in another order.
    order = [line.sender for line in observation.lines]
    if order != sorted(order):
        true["links"] = {"link1": true["links"]["link2"], "link2": true["links"]["link1"]}
    (folder / "true.toml").write_text(write_scenario(true))
    in_truth = _rank_changes(
        folder / "true.toml", true, [change for change in changes if change.words == chosen.words]
    )[0]
    is_right = in_truth.gain * chosen.gain > 0 or not (certain or in_truth.verdict in ("helps", "harms"))
    return {
        "change": chosen.words,
        "is_certain": bool(certain),
        "twin": [chosen.gain, chosen.low, chosen.high],
        "truth": [in_truth.gain, in_truth.low, in_truth.high],
        "is_right": is_right,
    }


def _rank_changes(file: Path, tables: dict[str, Any], changes: list[Change]) -> list[Advice]:
    here = Path.cwd()
    os.chdir(file.parent)
    try:
        running = RunOptions(jobs=1, fresh=False, cluster=None)
        outcomes: dict[str, list[TransferOutcome]] = run_changes(Path(file.name), tables, changes, _REPEATS, running)
    finally:
        os.chdir(here)
    return rank(outcomes.pop(UNCHANGED), outcomes)


def blind_table(drawn: CollectionSet) -> str:
    """Return the recorded results of a set as its table of docs/fit.md, with a sentence that counts them."""
    results = read_results(drawn)
    rows = [
        "| | line | rate | round trip | queue | random loss | rate | round trip | queue | change | twin | true lines |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | ---: | ---: |",
    ]
    for result in results:
        for place, line in enumerate(result["lines"], start=1):
            truth, errors, loss = line["truth"], line["errors"], line["loss"]
            interval = f"{100 * (loss['low'] or 0):.2f} to {100 * (loss['high'] or 0):.2f} %"
            cells = [str(result["number"]) if place == 1 else "", str(place)]
            cells += [f"{truth['rate'] / 1e6:.1f} Mbit/s", f"{truth['rtt_ns'] / 1e6:.1f} ms"]
            cells += [f"{truth['queue_ns'] / 1e6:.0f} ms", f"{truth['loss_ppb'] / 1e7:.2f} % ({interval})"]
            cells += [f"{100 * errors[name]:+.1f} %" for name in ("rate", "rtt", "queue")]
            cells += _advice_cells(result.get("advice")) if place == 1 else ["", "", ""]
            rows.append(f"| {' | '.join(cells)} |")
    return f"{_summary(results)}\n\n" + "\n".join(rows) + "\n"


def _advice_cells(advice: dict[str, Any] | None) -> list[str]:
    if advice is None:
        return ["not tried", "", ""]
    verdict = "" if advice["is_right"] else ", wrong"
    change = advice["change"] if advice["is_certain"] else "none is certain"
    return [change, f"{100 * advice['twin'][0]:+.0f} %", f"{100 * advice['truth'][0]:+.0f} %{verdict}"]


def _summary(results: list[dict[str, Any]]) -> str:
    lines = [line for result in results for line in result["lines"]]
    good = sum(is_good(line["errors"]) for line in lines)
    covered = sum(
        (line["loss"]["low"] or 0) <= line["truth"]["loss_ppb"] / 1e9 <= (line["loss"]["high"] or 0) for line in lines
    )
    advice = [result["advice"] for result in results if "advice" in result]
    right = sum(entry["is_right"] for entry in advice)
    certain = [entry for entry in advice if entry["is_certain"]]
    certain_right = sum(entry["is_right"] for entry in certain)
    return (
        f"{good} of {len(lines)} lines are good. The interval of random loss has the true value in {covered}. "
        f"The change has the right direction in {right} of {len(advice)} collections; in {len(certain)} of these it is "
        f"certain on the twin, and right in {certain_right}.\n\n"
        "The first columns are the truth, with the interval of the fitted loss; then the errors of the fit; then the "
        "change, and its gain in goodput on the twin and on the true lines."
    )


def read_results(drawn: CollectionSet) -> list[dict[str, Any]]:
    """Return the recorded evaluations of all collections of a set."""
    results: list[dict[str, Any]] = json.loads(drawn.file.read_text())
    return results


def main() -> None:
    """Evaluate collections and print each; with ``--write``, record the evaluated ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("numbers", type=int, nargs="*", help="numbers of collections; by default all")
    parser.add_argument("--set", choices=SETS, required=True, help="how the lines are drawn")
    parser.add_argument("--folder", type=Path, required=True, help="where collections and runs are kept")
    parser.add_argument("--no-advice", action="store_true", help="only fit")
    parser.add_argument("--write", action="store_true", help="record all for the table of docs/fit.md")
    arguments = parser.parse_args()
    drawn = SETS[arguments.set]
    for number in arguments.numbers or range(1, COLLECTIONS + 1):
        folder = arguments.folder.resolve() / f"{number:02}"
        observation, lines = fit_collection(drawn.draw(number), folder)
        result: dict[str, Any] = {"number": number, "lines": lines}
        if not arguments.no_advice:
            result["advice"] = try_advice(folder, observation, drawn.tried)
        (folder / "result.json").write_text(json.dumps(result))
        print(number, [is_good(line["errors"]) for line in lines], json.dumps(result), flush=True)
    if arguments.write:
        files = sorted(arguments.folder.glob("*/result.json"))
        drawn.file.write_text(json.dumps([json.loads(file.read_text()) for file in files], indent=1) + "\n")


if __name__ == "__main__":
    main()
