# SPDX-License-Identifier: MIT
"""Each reason of the catalogue has a scenario that produces it, and the run says so; ordinary runs say nothing.

The scenarios are in tests/lab/reasons, each a few seconds of virtual time. Most show their reason in the row of their
run, others where `mptcplab explain` reads a part of it; a session runs programs that no workload has.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mptcplab.api import explain
from mptcplab.explain.evidence import MPTCP
from mptcplab.explain.readers.collection import CAPTURES, COUNTERS
from mptcplab.explain.reason import Reason
from mptcplab.explain.reference import MEANINGS
from mptcplab.explain.registry import reasons
from mptcplab.metrics.rows import result_rows
from mptcplab.scenario.load import load

from .bench import Bench, mptcplab

FOLDER = Path(__file__).parent / "reasons"
SESSIONS = FOLDER / "sessions"
PRODUCED = {key: reason for key, reason in reasons().items() if reason.lab_scenario is not None}
#: How many random scenarios without any fault are tried; `make reasons` tries 200.
ORDINARY = int(os.environ.get("MPTCPLAB_REASONS", "12"))


def _keys_of_shown(bench: Bench, reason: Reason) -> set[str]:
    """Return the reasons that a reason's scenario shows, where it should be shown."""
    assert reason.lab_scenario is not None
    file = FOLDER / reason.lab_scenario
    if reason.shown_in == "session":
        return _explain_files(*_hold_session(file, bench.folder))
    recordings = bench.recordings(load(file).runs, may_fail=True)
    if reason.shown_in == "row":
        said = [reason for row in result_rows(recordings) for reason in row.reasons]
        for finding in said:
            print(f"{finding.reason}: {finding.text} {finding.evidence}")
        return {finding.reason for finding in said}
    (recording,) = recordings
    part = CAPTURES if reason.shown_in == "captures" else f"{COUNTERS}/client"
    return _explain_files(recording.folder / part)


def _explain_files(*files: Path) -> set[str]:
    """Return the reasons that `mptcplab explain` finds in files."""
    (answer,) = explain(files).answers.values()
    for explanation in answer.explanations:
        print(f"{explanation.finding.reason}: {explanation.finding.sentence} {explanation.finding.lines}")
    return {explanation.finding.reason for explanation in answer.explanations}


def _hold_session(script: Path, folder: Path) -> list[Path]:
    """Run a session in the lab, and return what it wrote."""
    network = script.with_suffix(".toml")
    network = network if network.exists() else SESSIONS / "network.toml"
    words = ("--scenario", network, "--out", folder / "out", "--env", f"PYTHON={sys.executable}", "--no-stdin")
    done = mptcplab("exec", *words, "--", "sh", script.name, cwd=SESSIONS)
    assert done.returncode == 0, done.stderr
    return sorted((folder / "out").iterdir())


@pytest.mark.parametrize("key", PRODUCED)
def test_the_scenario_of_a_reason_says_it(bench: Bench, key: str) -> None:
    assert key in _keys_of_shown(bench, PRODUCED[key])


def test_every_counter_of_the_kernel_has_a_meaning(bench: Bench) -> None:
    (recording,) = bench.recordings(load(FOLDER / "no-endpoint.toml").runs)
    counted = recording.counter("client", "nstat.json")["kernel"]
    assert {name.removeprefix(MPTCP) for name in counted if name.startswith(MPTCP)} == set(MEANINGS)


#: Workloads of ordinary runs without the keys that all have; half of the runs are bulk.
BULK = ('kind = "flow", duration = "3 s"', 'kind = "flow", size = "2 MB"')
OTHERS = (
    'kind = "flow", size = "1 MB", connections = 3',
    'kind = "iperf3", duration = "3 s"',
    'kind = "http", size = "500 kB", files = 3',
    'kind = "transfer", size = "2 MB"',
    'kind = "requests", request = "500 B", response = "20 kB", think = "50 ms", duration = "3 s"',
    'kind = "web", interval = "200 ms", response = "50 kB", duration = "3 s"',
    'kind = "stream", packet = "1000 B", interval = "20 ms", duration = "3 s"',
)
_BOOLEANS = ("true", "false")
#: Workloads that have no direction of their own.
UPLOADS = ("http", "transfer", "requests", "web")


def _ordinary(seed: int) -> Iterator[str]:
    """Yield the lines of a scenario in which MPTCP can do all that it should: two or three paths, with any workload.

    Buffers are large, nothing is lost at random, and queues are short. Rates differ by up to four times and round trips
    by up to three, which all schedulers here cope with. A second path may be a backup. Hosts may have either path
    manager, endpoints by a list, and settings that change nothing here.
    """
    choice = random.Random(seed)
    paths, trip = choice.choice([2, 2, 3]), choice.choice([5, 10, 20, 40])
    yield f'title = "ordinary {seed}"'
    yield f'family = "{choice.choice(["ipv4", "ipv4", "ipv6"])}"'
    yield f'neighbours = "{choice.choice(["resolve", "known"])}"'
    yield f'topology = {{ preset = "disjoint-paths", paths = {paths} }}'
    for number in range(1, paths + 1):
        rate, queue = choice.choice([5, 8, 10, 15, 20]), choice.choice([50, 100])
        delay = choice.choice([trip, trip + choice.randrange(5), 2 * trip, 3 * trip])
        yield f'links.link{number} = {{ rate = "{rate} Mbit/s", delay = "{delay} ms", queue = "{queue} ms" }}'
    workload = choice.choice(BULK if choice.random() < 0.5 else OTHERS)
    reverse = "" if any(f'"{kind}"' in workload for kind in UPLOADS) else f", reverse = {choice.choice(_BOOLEANS)}"
    yield f'workloads.work = {{ {workload}, from = "client", to = "server"{reverse} }}'
    scheduler, control = choice.choice(["default", "minrtt", "blest", "ecf"]), choice.choice(["cubic", "reno", "lia"])
    settings = choice.choice(
        ["", "", '"net.mptcp.checksum_enabled" = 1', '"net.ipv4.tcp_ecn" = 1', '"net.ipv4.tcp_timestamps" = 0']
    )
    yield f'transport = {{ scheduler = "{scheduler}", congestion_control = "{control}", sysctl = {{ {settings} }} }}'
    yield choice.choice(
        [
            *[""] * 4,
            'hosts.client.transport.modes = { access2 = "backup" }',
            'hosts.client.transport.path_manager = "userspace"',
            'hosts.client.transport.endpoints = "fullmesh"',
            "hosts.client.transport.endpoints = ["
            + ", ".join(f'{{ link = "access{number}" }}' for number in range(1, paths + 1))
            + "]",
        ]
    )


def test_ordinary_runs_have_no_reason(bench: Bench) -> None:
    """A note in an ordinary run is a false alarm: at most one in a hundred runs may have one, and none of a dozen."""
    alarms = []
    for seed in range(ORDINARY):
        (row,) = result_rows(bench.record("\n".join(_ordinary(seed))))
        notes = row.notes
        if notes:
            alarms.append((seed, notes))
            print(seed, notes)
    assert len(alarms) <= ORDINARY // 100
