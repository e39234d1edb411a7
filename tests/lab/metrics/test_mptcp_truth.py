# SPDX-License-Identifier: MIT
"""What a row says of MPTCP is what was in use: subflows, shares, fallbacks, congestion control, scheduler."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.lab.bench import Bench

from mptcplab.campaign import record
from mptcplab.metrics.rows import ResultRow
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.model import Plan
from mptcplab.scenario.schema import Scenario
from mptcplab.steps import Command

LINES = """
[topology]
preset = "disjoint-paths"
paths = 2

[links.link1]
rate = "20 Mbit/s"
delay = "10 ms"
queue = "30 ms"

[links.link2]
rate = "20 Mbit/s"
delay = "10 ms"
queue = "30 ms"

[workloads.bulk]
kind = "{kind}"
from = "client"
to = "server"
"""
FLOW = LINES.format(kind="flow") + 'duration = "5 s"\n'
IPERF3 = LINES.format(kind="iperf3") + 'duration = "5 s"\n'
TRANSFER = LINES.format(kind="transfer") + 'size = "20 MB"\n'
KINDS = pytest.mark.parametrize("text", [FLOW, IPERF3, TRANSFER], ids=["flow", "iperf3", "transfer"])


@KINDS
def test_equal_lines_share_equally(bench: Bench, text: str) -> None:
    row = bench.row(text)
    assert row.mptcp == "2 subflows", row
    assert row.warnings == (), row.warnings
    assert list(row.shares) == ["access1>link1", "access2>link2"], row.shares
    # Same rate and delay; the first subflow starts one handshake earlier, 20 ms of 5 s, and slow start may differ.
    worst = max(abs(share - 0.5) for share in row.shares.values())
    assert worst < 0.05, f"shares {row.shares}"
    assert 34 < row.goodput_mbps.mean < 2 * 19.13, f"{row.goodput_mbps.mean} Mbit/s of 2 x 19.13"


@KINDS
def test_tcp_says_no(bench: Bench, text: str) -> None:
    row = bench.row(text, "transport.protocol=tcp")
    assert (row.mptcp, row.warnings, row.scheduler) == ("no", (), ""), row
    assert row.shares == {"access1>link1": 1.0}, row.shares
    assert 17 < row.goodput_mbps.mean < 19.2, f"{row.goodput_mbps.mean} Mbit/s of 19.13"


@pytest.mark.parametrize("text", [FLOW, IPERF3], ids=["flow", "iperf3"])
def test_one_subflow_is_a_warning(bench: Bench, text: str) -> None:
    row = bench.row(text, "transport.endpoints=none")
    assert row.mptcp == "1 subflow", row
    assert row.warnings == ("MPTCP was in use, but only one subflow carried data",), row.warnings


def test_short_connections_differ_from_long_ones(bench: Bench) -> None:
    """Small objects are done before the second subflow carries data, large ones are not.

    The row said `1 subflow`, the smallest number, beside a second path with a good part of the data.
    """
    web = 'interval = "100 ms"\nresponse = "200 kB"\nsizes = "pareto"\nlargest = "2 MB"\nduration = "5 s"\n'
    row = bench.row(LINES.format(kind="web") + web)
    assert row.mptcp == "1 to 2 subflows", row
    # Slow start sends 10 + 20 + 40 segments, 100 kB, before the second subflow, which begins a round trip later, has
    # as much as the first; of Pareto's sizes most bytes are in larger objects.
    assert 0.1 < row.shares["link2>access2"] < 0.5, row.shares


def test_single_homed_client_shares_its_link(bench: Bench) -> None:
    """The server's announced second address gives a second subflow over the client's only link."""
    row = bench.row(
        """
hosts.client = {}
hosts.server = {}
routers.r1 = {}
links.access = { between = ["client", "r1"], rate = "20 Mbit/s", delay = "10 ms" }
links.link1 = { between = ["r1", "server"] }
links.link2 = { between = ["r1", "server"] }
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "5 s" }
"""
    )
    assert row.mptcp == "2 subflows", row
    assert sorted(row.shares) == ["access>link1", "access>link2"], row.shares
    # Together they get what the one link has: 20 Mbit/s * 1448 / 1514, less slow start.
    assert 17.5 < row.goodput_mbps.mean < 19.2, f"{row.goodput_mbps.mean} Mbit/s of 19.13"


def _assert_fell_back(row: ResultRow) -> None:
    assert row.mptcp in ("fell back", "no"), row.mptcp
    assert row.warnings, f"MPTCP was asked for, the row says '{row.mptcp}', and nothing warns of it"
    assert row.goodput_mbps.mean < 19.2, f"{row.goodput_mbps.mean} Mbit/s by one line of 19.13"


@KINDS
def test_a_middlebox_that_strips_the_option(bench: Bench, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ends ask for MPTCP, a router between them takes the option out of every packet."""
    rules = "table inet strip { chain forward { type filter hook forward priority 0; reset tcp option mptcp; }; }"

    def with_middlebox(scenario: Scenario, *, seed: int) -> Plan:
        plan = compile_plan(scenario, seed=seed)
        return replace(plan, setup=(*plan.setup, Command("r1", ("nft", rules))))

    monkeypatch.setattr(record, "compile_plan", with_middlebox)
    row = bench.row(text)
    _assert_fell_back(row)
    assert row.mptcp == "fell back", row.mptcp


@KINDS
def test_a_server_without_mptcp(bench: Bench, text: str) -> None:
    _assert_fell_back(bench.row(text, "hosts.server.transport.protocol=tcp"))


@KINDS
def test_a_client_without_mptcp(bench: Bench, text: str) -> None:
    _assert_fell_back(bench.row(text, "hosts.client.transport.protocol=tcp"))


PLACES = ("transport", "hosts.client.transport", "workloads.bulk")


def test_download_has_the_same_shares(bench: Bench) -> None:
    row = bench.row(FLOW, "workloads.bulk.reverse=true")
    assert row.mptcp == "2 subflows", row
    assert max(abs(share - 0.5) for share in row.shares.values()) < 0.05, row.shares


@pytest.mark.parametrize(
    ("text", "protocol", "where"),
    [
        *((FLOW, protocol, where) for protocol in ("tcp", "mptcp") for where in PLACES),
        (IPERF3, "tcp", "hosts.client.transport"),
        (IPERF3, "mptcp", "workloads.bulk"),
    ],
)
def test_congestion_control_as_seen(bench: Bench, text: str, protocol: str, where: str) -> None:
    """Set for all hosts, for the sender, or per socket; read from the sender's sockets."""
    settings = (f"{where}.congestion_control=reno", f"transport.protocol={protocol}", "workloads.bulk.duration=1 s")
    row = bench.row(text, *settings)
    assert row.congestion == "reno", f"{where}: the sockets had '{row.congestion}'"


def test_the_receiver_s_congestion_control_does_not_count(bench: Bench) -> None:
    row = bench.row(FLOW, "hosts.server.transport.congestion_control=reno", "workloads.bulk.duration=1 s")
    assert row.congestion == "cubic", row.congestion
    row = bench.row(
        FLOW,
        "hosts.server.transport.congestion_control=reno",
        "workloads.bulk.duration=1 s",
        "workloads.bulk.reverse=true",
    )
    assert row.congestion == "reno", row.congestion


def test_scheduler_as_seen(bench: Bench) -> None:
    row = bench.row(FLOW, "workloads.bulk.duration=1 s")
    assert row.scheduler == "default", row.scheduler
