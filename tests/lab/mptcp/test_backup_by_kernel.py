# SPDX-License-Identifier: MIT
"""A backup with the kernel's path manager: one key, no additional subflow, and data on it only when it has to."""

from __future__ import annotations

import polars as pl
import pytest
from tests.lab.bench import Bench

from mptcplab.recording.record import Recording

#: Every address of the client reaches every address of the server, so flags of endpoints alone make three subflows.
MESH = """
title = "Two links to a router, and two from it"
routers.r = {}
links.a1 = { between = ["client", "r"], rate = "10 Mbit/s", delay = "10 ms" }
links.a2 = { between = ["client", "r"], rate = "10 Mbit/s", delay = "10 ms" }
links.b1 = { between = ["r", "server"] }
links.b2 = { between = ["r", "server"] }
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "6 s", reverse = REVERSE }
hosts.client.transport = { CLIENT }
hosts.server = {}
record = { interval = "20 ms" }
"""
DISJOINT = """
title = "Two paths"
topology.preset = "disjoint-paths"
links.link1 = { rate = "10 Mbit/s", delay = "10 ms" }
links.link2 = { rate = "10 Mbit/s", delay = "10 ms" }
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "6 s", reverse = REVERSE }
hosts.client.transport = { CLIENT }
record = { interval = "20 ms" }
"""
#: The first path's subflow goes after 3 s.
REMOVED = """
[[events]]
at = "3 s"
type = "address-removed"
link = "access1"
node = "client"
"""


def _record(bench: Bench, text: str, client: str, *, reverse: bool = False, more: str = "") -> Recording:
    text = text.replace("REVERSE", str(reverse).lower()).replace("CLIENT", client)
    return bench.record(text + more)[0]


def _joins(recording: Recording) -> tuple[int, int]:
    """The joins that the client began, and the joins that the server accepted."""
    counts = [recording.counter(node, "nstat.json")["kernel"] for node in ("client", "server")]
    return counts[0]["MPTcpExtMPJoinSynTx"], counts[1]["MPTcpExtMPJoinAckRx"]


def _sent_bytes(recording: Recording, address: str, until_s: float = 1000.0) -> int:
    """Payload that both sides sent on subflows of an address of the client. Acknowledged bytes would count SYNs."""
    rows = recording.subflows.filter(pl.any_horizontal(pl.col("local", "remote").str.starts_with(f"{address}:")))
    assert rows.height, "there is no subflow from this address"
    at_the_end = (
        rows.filter(pl.col("time_ns") < until_s * 1e9).group_by("local", "remote").agg(pl.col("bytes_sent").max())
    )
    return int(at_the_end["bytes_sent"].sum())


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("text", "link", "address", "joins"), [(DISJOINT, "access2", "10.0.3.1", 1), (MESH, "a2", "10.0.2.1", 2)]
)
def test_as_many_subflows_as_without_a_backup(
    bench: Bench, text: str, link: str, address: str, joins: int, reverse: bool
) -> None:
    """In the mesh, the second join is the first link's to the announced address, which `on` has, too."""
    for mode in ("on", "backup"):
        recording = _record(bench, text, f'modes = {{ {link} = "{mode}" }}', reverse=reverse)
        carried = _sent_bytes(recording, address)
        print(f"{mode}: {_joins(recording)} joins, {carried} B on {link}")
        assert _joins(recording) == (joins, joins)
        assert (carried == 0) == (mode == "backup"), carried


@pytest.mark.parametrize("version", ["7.2", "6.12"])
@pytest.mark.parametrize("reverse", [False, True])
def test_the_backup_takes_over(bench: Bench, version: str, reverse: bool) -> None:
    text = DISJOINT + f'kernel = "{version}"\n'
    recording = _record(bench, text, 'modes = { access2 = "backup" }', reverse=reverse, more=REMOVED)
    before, after = _sent_bytes(recording, "10.0.3.1", 2.98), _sent_bytes(recording, "10.0.3.1")
    print(f"backup: {before} B before the first path goes, {after} B in the end")
    assert before == 0, "the backup carried data while the other path was there"
    # Half of what a link of 10 Mbit/s carries in the 3 s that are left.
    assert after > 10e6 / 8 * 3 / 2, "the backup did not take over"
    assert _joins(recording) == (1, 1)


def test_the_first_subflow_may_be_the_backup(bench: Bench) -> None:
    """The address connected to begins its only path. MP_PRIO makes it a backup as soon as there is another."""
    recording = _record(bench, DISJOINT, 'modes = { access1 = "backup" }')
    early, late = (_sent_bytes(recording, "10.0.1.1", until_s) for until_s in (1.0, 1000.0))
    other = _sent_bytes(recording, "10.0.3.1")
    print(f"first subflow: {early} B in the first second, {late} B in the end; the other {other} B")
    assert early == late, "the backup carried data beside the other subflow"
    # Half of what a link of 10 Mbit/s carries in 6 s.
    assert other > 10e6 / 8 * 6 / 2
    assert _joins(recording) == (1, 1)
