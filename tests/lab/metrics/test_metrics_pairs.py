# SPDX-License-Identifier: MIT
"""No metric of one workload depends on the presence of another, for every pair of kinds.

One run has two workloads of every kind. What is measured of one of them must be the same from the whole recording,
from one with the samples of it and one other, and from one with its own samples only, in which columns of others are
missing.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
from tests.lab.bench import Bench

from mptcplab.engine.virtual.engine import VirtualEngine
from mptcplab.metrics.measure import WorkloadMeasurement, measure, measure_workload
from mptcplab.metrics.network import NetworkCounters, network_counters
from mptcplab.recording.record import Recording
from mptcplab.workload.recorded import read_workload
from mptcplab.workload.registry import KINDS

NETWORK = """
[topology]
preset = "disjoint-paths"

[links.link1]
rate = "50 Mbit/s"
delay = "10 ms"

[links.link2]
rate = "50 Mbit/s"
delay = "20 ms"

[record]
interval = "100 ms"

[[events]]
at = "3 s"
type = "down"
link = "link1"

[[events]]
at = "5 s"
type = "up"
link = "link1"
"""
_TABLES = ("subflows", "connections")


def _workload(name: str, kind: str) -> str:
    """What every kind can do: run for 9 s, or transfer 3 MB; what else it needs is as in its documentation."""
    model = KINDS[kind]
    goal = {"duration": "9 s"} if "duration" in model.model_fields else {"size": "3 MB"}
    fields = [(field.alias or key, field) for key, field in model.model_fields.items()]
    needed = {key: field.examples[0] for key, field in fields if field.is_required() and field.examples}
    lines = {**needed, "kind": kind, "from": "client", "to": "server", **goal}
    return "\n".join((f"[workloads.{name}]", *(f"{key} = {json.dumps(value)}" for key, value in lines.items())))


@dataclass(frozen=True)
class Whole:
    """The run with everything, what is measured of it by workload, and the ports of each one's server."""

    recording: Recording
    ports: dict[str, set[int]]
    measured: dict[str, WorkloadMeasurement]


@pytest.fixture(scope="module")
def whole(engines: Mapping[str, VirtualEngine], tmp_path_factory: pytest.TempPathFactory) -> Whole:
    workloads = [_workload(f"{kind}{number}", kind) for kind in KINDS for number in (1, 2)]
    bench = Bench(engines, tmp_path_factory.mktemp("pairs"))
    text = "\n".join((NETWORK, *workloads))
    scenario = bench.experiment(text).points[0].scenario
    ports = {name: {port, *scenario.workloads[name].data_ports(port)} for name, port in scenario.server_ports.items()}
    (recording,) = bench.record(text)
    return Whole(recording, ports, _measure(recording))


def _measure(recording: Recording) -> dict[str, WorkloadMeasurement]:
    return {measurement.workload: measurement for measurement in measure(recording)}


def _keep_workloads(whole: Whole, workloads: Collection[str], folder: Path) -> Recording:
    """The recording with the samples of some workloads only, as if the others had left none."""
    recording = whole.recording
    shutil.copytree(recording.folder, folder, ignore=shutil.ignore_patterns("*.parquet"), copy_function=_link)
    for file in recording.folder.glob("*.parquet"):
        table = pl.read_parquet(file)
        if file.stem in _TABLES:
            table = table.filter(
                pl.Series(_owner(whole.ports, row) in workloads for row in table.iter_rows(named=True))
            )
            table = table.select(column for column in table if column.null_count() < table.height)
        if table.height:
            table.write_parquet(folder / file.name)
    return Recording(folder)


def _link(source: str, target: str) -> None:
    Path(target).symlink_to(source)


def _owner(served: Mapping[str, set[int]], row: dict[str, object]) -> str:
    """Return the workload of a sample: by its program, or by the server that has the socket's port."""
    if row.get("program") is not None:
        return str(row["program"]).rpartition(".")[0]
    mine = {int(str(row[end]).rpartition(":")[2]) for end in ("local", "remote")}
    owners = [name for name, its_ports in served.items() if mine & its_ports]
    assert len(owners) == 1, f"{row['local']} and {row['remote']} belong to {owners}"
    return owners[0]


def _measure_one(recording: Recording, name: str, network: NetworkCounters) -> WorkloadMeasurement:
    return measure_workload(recording, read_workload(recording, name), network)


@pytest.mark.parametrize("kind", KINDS)
def test_metrics_do_not_depend_on_other_workloads(whole: Whole, tmp_path: Path, kind: str) -> None:
    mine = f"{kind}1"
    network = network_counters(whole.recording)
    alone = _measure_one(_keep_workloads(whole, {mine}, tmp_path / "alone"), mine, network)
    print(alone)
    assert alone.goodput_bps > 0
    assert {"all": whole.measured[mine]} == {"all": alone}
    for other in KINDS:
        beside = _keep_workloads(whole, {mine, f"{other}2"}, tmp_path / other)
        assert {other: _measure_one(beside, mine, network)} == {other: alone}


REQUESTS_WAIT = """
[topology]
preset = "disjoint-paths"
paths = 1

[links.link1]
rate = "20 Mbit/s"
delay = "10 ms"

[workloads.ask]
kind = "requests"
from = "client"
to = "server"
duration = "40 s"

[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
duration = "40 s"

[[events]]
at = "5 s"
type = "down"
link = "link1"

[[events]]
at = "15 s"
type = "up"
link = "link1"
"""


def test_a_request_beside_a_flow_has_the_gap_that_it_had(bench: Bench) -> None:
    """The line is down for 10 s, and TCP's timeout doubles. Only the flow's receiver tells its pauses itself."""
    (recording,) = bench.record(REQUESTS_WAIT, "transport.protocol=tcp")
    gaps = {name: measurement.metrics["gap_s"] for name, measurement in _measure(recording).items()}
    print(gaps)
    assert set(gaps) == {"ask", "bulk"}
    assert all(9.9 < gap <= 21 for gap in gaps.values()), gaps


def test_a_gap_that_does_not_end_is_not_one_of_zero(bench: Bench) -> None:
    """Datagrams are sent for 15 s after the line has failed for good; none arrives."""
    text = REQUESTS_WAIT.replace('"requests"', '"voip"\nprotocol = "udp"').replace('"flow"', '"udp"\nrate = "1 Mbit/s"')
    down = text[: text.rindex("[[events]]")]
    (recording,) = bench.record(down.replace("40 s", "20 s"))
    for measurement in _measure(recording).values():
        print(measurement.workload, measurement.metrics)
        assert measurement.metrics["lost_percent"] == pytest.approx(75, abs=1)
        assert "gap_s" not in measurement.metrics
    (brief,) = bench.record(text.replace("15 s", "5.5 s").replace("40 s", "20 s"))
    for measurement in _measure(brief).values():
        assert 0.5 <= measurement.metrics["gap_s"] < 0.53, "the receiver ends a second after the last data: not a gap"
