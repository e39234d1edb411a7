# SPDX-License-Identifier: MIT
"""Results folders written by hand: what `mptcplab run` leaves, without running anything."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.unit.network_counters import Counts, write_counters

from mptcplab.campaign.contract import describe_scenario
from mptcplab.metrics.kept import cached_result
from mptcplab.metrics.rows import rows_of
from mptcplab.plan.compile import compile_plan
from mptcplab.recording import samples
from mptcplab.recording.record import FORMAT, Recording
from mptcplab.report.experiment import experiment_document
from mptcplab.report.table import write_json
from mptcplab.scenario.load import Experiment, Run, load
from mptcplab.scenario.network import Network

TWO_LINES = """
title = "Two lines"
question = "Does it add up?"
repeats = 3
topology = { preset = "disjoint-paths", paths = 2 }
links.link1 = { rate = "50 Mbit/s", delay = "10 ms" }
links.link2 = { rate = "20 Mbit/s", delay = "30 ms", loss = "0.1 %" }
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "2 s" }
sweep."transport.protocol" = ["tcp", "mptcp"]
sweep."links.link2.delay" = ["10 ms", "30 ms", "100 ms"]
"""
#: Instants of samples, in ms after time zero.
STEPS = 20
STEP_MS = 100
_PORT = 5001


def make_results(
    folder: Path,
    text: str = TWO_LINES,
    *,
    keep: Callable[[Run], bool] = lambda _: True,
    steps: int = STEPS,
    overrides: Sequence[str] = (),
) -> Experiment:
    """A results folder of the scenario ``text``: recordings of all runs that ``keep`` wants, log and results.json."""
    folder.mkdir(parents=True)
    file = folder / "made.toml"
    file.write_text(text)
    experiment = load(file, overrides=overrides)
    kept = [run for run in experiment.runs if keep(run)]
    labels = ", ".join(run.label for run in experiment.runs)
    assert kept, f"`keep` accepts none of the runs: they are {labels}"
    made = _make_once(_Recipe(folder.name, text, tuple(overrides), steps, tuple(run.label for run in kept)))
    # Times are copied, too: by them, `cached_result` knows what `_make_once` has measured.
    shutil.copytree(made, folder, dirs_exist_ok=True)
    document = folder / "results.json"
    document.write_text(document.read_text().replace(str(made), str(folder)))
    return experiment


@dataclass(frozen=True)
class _Recipe:
    """All that decides what is in a results folder: its name is part of the identities of its runs."""

    folder_name: str
    text: str
    overrides: tuple[str, ...]
    steps: int
    labels: tuple[str, ...]


@cache
def _make_once(recipe: _Recipe) -> Path:
    """Return a folder with recordings, log and results.json to copy: many tests begin with the same results."""
    above = Path(tempfile.mkdtemp(prefix="mptcplab-made-"))
    atexit.register(shutil.rmtree, above, ignore_errors=True)
    folder = above / recipe.folder_name
    folder.mkdir()
    file = folder / "made.toml"
    file.write_text(recipe.text)
    experiment = load(file, overrides=recipe.overrides)
    kept = [run for run in experiment.runs if run.label in recipe.labels]
    recordings = [write_run(folder, run, recipe.steps) for run in kept]
    rows = rows_of(cached_result(recording) for recording in recordings)
    write_json(experiment_document(experiment, rows), folder / "results.json")
    return folder


def write_run(folder: Path, run: Run, steps: int = STEPS) -> Recording:
    """The recording of one run, and its line in the log."""
    scenario = run.point.scenario
    identity = f"{hash((run.label, folder.name, scenario.model_dump_json())) & (2**64 - 1):016x}"
    place = folder / "runs" / identity
    (place / "out").mkdir(parents=True)
    network = Network(scenario)
    plan = compile_plan(scenario, seed=run.seed)
    rows: list[samples.Row] = []
    connections: list[samples.Row] = []
    for name in scenario.workloads:
        for side in ("client", "server"):
            text = "".join(json.dumps(event) + "\n" for event in _events(run, name, side, network, steps))
            node = scenario.workloads[name].sender if side == "client" else scenario.workloads[name].receiver
            (place / "out" / f"{name}.{side}.out").write_text(text)
            output = samples.parse_flow_output(text, node=node, program=f"{name}.{side}", zero_ns=0)
            rows += output[0]
            connections += output[1]
    samples.write(rows, place / "subflows.parquet")
    samples.write(connections, place / "connections.parquet")
    for node in scenario.transports:
        (place / "counters" / node).mkdir(parents=True)
        counted = {"MPTcpExtMPCapableACKRX": 1} if _is_mptcp(run) else {}
        (place / "counters" / node / "nstat.json").write_text(json.dumps({"kernel": counted}))
        (place / "counters" / node / "algorithms.json").write_text(json.dumps({"sockets": []}))
    (place / "plan.json").write_text(json.dumps({"plan": plan.to_dict(), "tools": {}}))
    manifest = json.loads(json.dumps(_manifest(run, identity, network)))
    write_counters(place, manifest, _counts(manifest))
    (place / "manifest.json").write_text(json.dumps(manifest, indent=1, sort_keys=True))
    log = {"run": identity, "when": f"2026-01-01T00:00:{run.seed % 60:02d}Z", "wall_seconds": 0.5, "virtual_seconds": 2}
    with (folder / "log.jsonl").open("a") as lines:
        lines.write(json.dumps({**log, "host": {"cpus": 2, "kernel": "6.1", "machine": "x86_64"}}) + "\n")
    return Recording(place)


def _counts(manifest: dict[str, Any]) -> Counts:
    """As many bytes everywhere, and of 1000 packets the losses that are asked for."""
    sides = [(link, side) for link in manifest["links"] for side in ("forward", "backward")]
    counts = {}
    for link, side in sides:
        lost = round(1000 * link[side]["chances"]["high"])
        counts[link["name"], side] = {"packets": 1000 - lost, "bytes": 1_000_000, "drops": lost}
    return counts


def _is_mptcp(run: Run) -> bool:
    return any(transport.protocol == "mptcp" for transport in run.point.scenario.transports.values())


def _manifest(run: Run, identity: str, network: Network) -> dict[str, Any]:
    scenario = json.loads(run.point.scenario.model_dump_json(by_alias=True, exclude={"title", "question"}))
    end = STEPS * STEP_MS * 10**6
    programs = [
        {"name": f"{name}.{side}", "node": "client", "role": side, "start_ns": 0, "end_ns": end, "samples_itself": True}
        for name in scenario["workloads"]
        for side in ("client", "server")
    ]
    return {
        "identity": identity,
        "settings": [[key, value] for key, value in run.point.settings.items()],
        "repeat": run.repeat,
        "seed": run.seed,
        "zero_ns": 0,
        "virtual_ns": end,
        "format": FORMAT,
        "addresses": {port.ip: {"node": port.node, "link": port.link} for port in network.ports.values()},
        **describe_scenario(network, run.point.scenario.server_ports),
        "programs": programs,
        "facts": {
            "mptcplab": "0.0.1",
            "engine": "virtual",
            "kernel": {"release": "7.2.1-made", "key": "0123456789abcdef0123"},
            "programs": {"ip": "aa", "tc": "bb", "sysctl": "cc", "python": "dd"},
            "libraries": {"libc.so.6": "ee"},
        },
        "scenario": scenario,
    }


def _events(run: Run, name: str, side: str, network: Network, steps: int) -> Iterator[dict[str, Any]]:
    """What ``flow`` writes: line 1 at 45 Mbit/s and line 2 at 15, each a little different for every seed.

    TCP is on line 1, unless the workload is ``via`` another.
    """
    load = run.point.scenario.workloads[name]
    mptcp = _is_mptcp(run)
    sending, receiving = network.ports_of(load.sender), network.ports_of(load.receiver)
    lines = list(zip(zip(sending, receiving, strict=False), [45e6 + 1e5 * (run.seed % 7), 15e6], strict=False))
    through = [line for line in lines if getattr(load, "via", None) in {port.link for port in line[0]}]
    lines = lines[:2] if mptcp else (through or lines)[:1]
    paths, rates = [path for path, _ in lines], [rate for _, rate in lines]
    common = {"conn": 0, "role": side}
    asked = run.point.scenario.transports[load.sender]
    congestion = load.congestion_control or asked.congestion_control or "cubic"
    scheduler = load.scheduler or asked.scheduler or "default"
    yield {"event": "start", **common, "t_ns": 0, "congestion": congestion, "scheduler": scheduler}
    for step in range(1, steps + 1):
        instant = step * STEP_MS * 10**6
        final = step == steps
        counts = [int(rate * instant / 8e9) for rate in rates]
        at = {**common, "t_ns": instant, "final": final}
        yield {"event": "interval", **at, "bytes": 0, "total": sum(counts)}
        if mptcp:
            yield {"event": "mptcp", **at, "fallback": False}
        for number, ((left, right), count) in enumerate(zip(paths, counts, strict=True), start=1):
            ends = [f"{left.ip}:{40000 + number}", f"{right.ip}:{_PORT}"]
            local, remote = ends if side == "client" else ends[::-1]
            subflow = {"event": "subflow", **at, "local": local, "remote": remote, "snd_cwnd": 10 * number + step}
            subflow |= {"rtt_us": 20_000 * number + 100 * step if step > 1 else 0}
            subflow |= {"subflow_id": number} if mptcp else {}
            subflow |= {"bytes_received": count if side == "server" else 0, "bytes_retrans": 0, "bytes_sent": count}
            yield {**subflow, "bytes_acked": count if side == "client" else 0}
    end = steps * STEP_MS * 10**6
    yield {
        "event": "end",
        **common,
        "t_ns": end,
        "bytes": sum(counts),
        "connect_ns": 0,
        "last_ns": end,
        "checksum": "a",
    }
