# SPDX-License-Identifier: MIT
"""Events of endpoints and limits: what the kernel's path manager does at their instants, by bytes and by counters."""

from __future__ import annotations

import polars as pl
import pytest
from tests.lab.bench import Bench

from mptcplab.metrics.network import endpoint_states
from mptcplab.recording.record import Recording

RATE_BPS = 10e6
#: Each path carries 10 Mbit/s, of which 1428 of 1514 bytes are payload: nothing hides which path has data.
PATHS = """
title = "Two paths"
kernel = "KERNEL"
topology.preset = "disjoint-paths"
links.link1 = { rate = "10 Mbit/s", delay = "10 ms" }
links.link2 = { rate = "10 Mbit/s", delay = "10 ms" }
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "9 s", reverse = REVERSE }
hosts.client.transport = { CLIENT }
hosts.server.transport = { SERVER }
record = { interval = "20 ms" }
"""
NONE = 'endpoints = "none"'


def _event(at: str, kind: str, **keys: str) -> str:
    return f'[[events]]\nat = "{at}"\ntype = "{kind}"\n' + "".join(f"{key} = {value}\n" for key, value in keys.items())


def _record(
    bench: Bench, *events: str, client: str = NONE, server: str = NONE, reverse: bool = False, kernel: str = "7.2"
) -> Recording:
    values = {"CLIENT": client, "SERVER": server, "REVERSE": str(reverse).lower(), "KERNEL": kernel}
    text = PATHS
    for word, value in values.items():
        text = text.replace(word, value)
    recording = bench.record(text + "".join(events))[0]
    for states in endpoint_states(recording):
        assert not states.missing_endpoints, states
        assert not states.unexpected_endpoints, states
    return recording


def _counts(recording: Recording, node: str) -> dict[str, int]:
    return {
        name.removeprefix("MPTcpExt"): count for name, count in recording.counter(node, "nstat.json")["kernel"].items()
    }


def _mbit_s(recording: Recording, address: str, start_s: float, end_s: float) -> float:
    """Return the payload per second that subflows with an address of the client carried in an interval."""
    rows = recording.subflows.filter(
        pl.any_horizontal(pl.col("local", "remote").str.starts_with(f"{address}:"))
        & (pl.col("time_ns") > start_s * 1e9)
        & (pl.col("time_ns") <= end_s * 1e9)
    )
    sent = rows.group_by("local", "remote").agg(pl.col("bytes_sent").max() - pl.col("bytes_sent").min())
    return float(sent["bytes_sent"].sum()) * 8 / (end_s - start_s) / 1e6


#: What a full path carries: 9.4 Mbit/s of payload; half a Mbit/s for the samples at both ends of an interval.
FULL = 8.9


@pytest.mark.parametrize("kernel", ["7.2", "6.12"])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_second_subflow_comes_and_goes(bench: Bench, reverse: bool, kernel: str) -> None:
    """An announced address: the client joins it at once, and closes the subflow when the server withdraws it."""
    recording = _record(
        bench,
        _event("3 s", "endpoint-added", link='"link2"', flags='["signal"]'),
        _event("6 s", "endpoint-removed", link='"link2"'),
        reverse=reverse,
        kernel=kernel,
    )
    before, between, after = (_mbit_s(recording, "10.0.3.1", *span) for span in ((0, 3), (4, 6), (6.5, 9)))
    print(f"second path: {before:.2f}, {between:.2f}, {after:.2f} Mbit/s")
    assert before == 0
    assert between > FULL
    assert after == 0
    assert _mbit_s(recording, "10.0.1.1", 6.5, 9) > FULL, "the first path goes on"
    client, server = _counts(recording, "client"), _counts(recording, "server")
    assert (client["MPJoinSynTx"], server["MPJoinAckRx"]) == (1, 1)
    assert (server["AddAddrTx"], client["AddAddr"]) == (1, 1)
    assert (server["RmAddrTx"], client["RmAddr"]) == (1, 1)


@pytest.mark.parametrize("reverse", [False, True])
def test_data_moves_when_a_path_becomes_a_backup(bench: Bench, reverse: bool) -> None:
    """MP_PRIO reaches the other side, so that both directions leave the path, and come back to it."""
    recording = _record(
        bench,
        _event("3 s", "endpoint-changed", link='"access2"', flags='["backup"]'),
        _event("6 s", "endpoint-changed", link='"access2"', flags='["nobackup"]'),
        client='endpoints = [{ link = "access2", flags = ["subflow"] }]',
        server='endpoints = [{ link = "link2", flags = ["signal"] }]',
        reverse=reverse,
    )
    before, between, after = (_mbit_s(recording, "10.0.3.1", *span) for span in ((1, 3), (4, 6), (7, 9)))
    print(f"second path: {before:.2f}, {between:.2f}, {after:.2f} Mbit/s")
    assert before > FULL
    # What was queued on the subflow at 3 s has left it at 4 s: the queue is 100 ms.
    assert between == 0
    assert after > FULL
    client, server = _counts(recording, "client"), _counts(recording, "server")
    assert client["MPPrioTx"] == 2
    assert server["MPPrioRx"] == 2


def test_an_endpoint_takes_over_the_number_of_an_implicit_one(bench: Bench) -> None:
    """The client's second address has an implicit endpoint since the join. An event adds one for it, and removes it,
    with whatever number it has, which closes its subflow."""
    recording = _record(
        bench,
        _event("3 s", "endpoint-added", link='"access2"', flags='["subflow"]'),
        _event("6 s", "endpoint-removed", link='"access2"'),
        server='endpoints = [{ link = "link2", flags = ["signal"] }]',
    )
    before, after = (_mbit_s(recording, "10.0.3.1", *span) for span in ((1, 6), (6.5, 9)))
    print(f"second path: {before:.2f}, {after:.2f} Mbit/s")
    assert before > FULL
    assert after == 0
    assert _counts(recording, "client")["RmAddrTx"] == 1


ANNOUNCED = _event("3 s", "endpoint-added", link='"link2"', flags='["signal"]')


def test_a_lowered_limit_refuses_joins(bench: Bench) -> None:
    """The client still tries to join, and the server's new limit refuses it."""
    recording = _record(bench, _event("2 s", "limits-changed", node='"server"', subflows="0"), ANNOUNCED)
    assert _mbit_s(recording, "10.0.3.1", 3, 9) == 0
    assert _counts(recording, "client")["MPJoinSynTx"] == 1
    assert _counts(recording, "server")["MPJoinAckRx"] == 0


def test_a_raised_limit_is_for_later_connections(bench: Bench) -> None:
    """A connection that began without room for subflows ignores announcements for good."""
    raised = _event("2 s", "limits-changed", node='"client"', subflows="1")
    later = '[workloads.later]\nkind = "flow"\nfrom = "client"\nto = "server"\nstart = "5 s"\nduration = "4 s"\n'
    closed = NONE + ", limits = { subflows = 0 }"
    recording = _record(bench, raised, ANNOUNCED, later, client=closed)
    programs = recording.subflows.filter(pl.col("local").str.starts_with("10.0.3.1:"))["program"].unique().to_list()
    assert _mbit_s(recording, "10.0.3.1", 6, 9) > FULL
    assert _mbit_s(recording, "10.0.3.1", 0, 5) == 0
    assert [name.split(".")[0] for name in programs] == ["later"]
    assert _counts(recording, "client")["MPJoinSynTx"] == 1


def test_the_same_bytes_every_time(bench: Bench) -> None:
    """Programs that an event starts, such as the shell that looks a number up, take no time of their own."""
    events = (
        _event("3 s", "endpoint-added", link='"link2"', flags='["signal"]'),
        _event("6 s", "endpoint-removed", link='"link2"'),
    )
    first, second = (_record(bench, *events) for _ in range(2))
    assert first.subflows.equals(second.subflows)
