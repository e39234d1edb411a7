# SPDX-License-Identifier: MIT
"""Examples of gateways, in a short form: what their pages say of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.lab.bench import Bench, needs, note

from mptcplab.metrics.rows import ResultRow, result_rows
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.model import Plan
from mptcplab.scenario.load import load
from mptcplab.steps import Command

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "gateways"
LIBEV = "gateways.bond.program=shadowsocks-libev"
#: Payload of a full frame.
_PAYLOAD = 1448 / 1514


def _rows(bench: Bench, name: str, *overrides: str) -> dict[str, ResultRow]:
    """Return the rows of an example with one seed, by the value of its last swept key, or by workload without one."""
    experiment = load(EXAMPLES / f"{name}.toml", overrides=overrides, repeats=1)
    rows = result_rows(bench.recordings(experiment.runs))
    for row in rows:
        print(row.settings, row.workload, f"{row.goodput_mbps.mean:.2f} Mbit/s", row.gateways, row.shares)
    return {next(reversed(row.settings.values()), row.workload): row for row in rows}


def test_a_slow_line_does_not_hold_a_fast_one_up(bench: Bench) -> None:
    rows = _rows(bench, "ten-to-one", LIBEV)
    tcp, mptcp = rows["tcp"].goodput_mbps.mean, rows["mptcp"].goodput_mbps.mean
    assert tcp < 100 * _PAYLOAD, "the fast line alone"
    # Of twelve runs through proxies ten had 93.2 to 94.3 Mbit/s, and two 83.1 and 86.5, which is 6 % less than TCP.
    assert 0.92 * tcp < mptcp < 110 * _PAYLOAD, (tcp, mptcp)


def test_a_download_outlives_its_line(bench: Bench) -> None:
    rows = _rows(bench, "failover", LIBEV)
    gaps = {name: row.metrics["gap_s"].mean for name, row in rows.items()}
    assert gaps["tcp"] > 3, "TCP waits for its line, which is away for 3 s"
    # Two timeouts of at least 200 ms, of which the second one is twice as long, and a round trip.
    assert gaps["mptcp"] < 1.5, gaps
    assert min(rows["mptcp"].shares.values()) > 0.2, "both lines carry the download"


def test_terminals_share_a_gateway(bench: Bench) -> None:
    experiment = load(EXAMPLES / "terminals.toml", repeats=1)
    runs = [run for run in experiment.runs if "cubic" in run.point.settings.values()]
    rows = {row.workload: row for row in result_rows(bench.recordings(runs))}
    rates = {name: row.goodput_mbps.mean for name, row in rows.items()}
    for number in range(1, 5):
        assert rows[f"fetch{number}"].gateways == f"proxy{number}: TCP | MPTCP, 2 subflows, cubic | TCP"
        # 10 Mbit/s of its own, and something of the shared 50.
        assert 10 * _PAYLOAD < rates[f"fetch{number}"] < 30, rates
    assert rates["plain"] > 5, rates
    assert rows["plain"].gateways == ""


def test_a_large_file_at_the_rate_of_both_links(bench: Bench) -> None:
    needs("go-shadowsocks2")
    (row,) = _rows(bench, "large-file", "workloads.fetch.size=200 MB").values()
    assert row.gateways == "bond: TCP | MPTCP, 2 subflows, cubic | TCP"
    # 1.5 Gbit/s of frames; slow start takes a part of the 1.2 s.
    assert 1250 < row.goodput_mbps.mean < 1500 * _PAYLOAD, row.goodput_mbps.mean


def test_the_terminals_receive_window_decides_about_a_large_file(bench: Bench) -> None:
    """From the kernel's default, MPTCP's window stays too small for both links; the example begins at 1 MiB."""
    settings = (LIBEV, "gateways.bond.cipher=aes-256-gcm", "workloads.fetch.size=200 MB")
    (wide,) = _rows(bench, "large-file", *settings).values()
    default = 'hosts.ue.transport.tcp_rmem=["4096 B", "128 KiB", "6 MiB"]'
    (narrow,) = _rows(bench, "large-file", *settings, default).values()
    note("gateway large file Mbit/s", wide.goodput_mbps.mean)
    note("gateway large file with the default window Mbit/s", narrow.goodput_mbps.mean)
    assert wide.goodput_mbps.mean > 1250, "as in the test above: most of 1.5 Gbit/s"
    assert narrow.goodput_mbps.mean < 1000, "less than the faster link alone"


#: Turns HyStart off for the sockets of the whole lab: delays no longer end cubic's slow start.
WITHOUT_HYSTART = Command(None, ("sh", "-c", "echo 0 > /sys/module/tcp_cubic/parameters/hystart"), ("sh",))


@pytest.mark.parametrize(
    ("example", "settings", "megabytes"),
    [
        ("tunnel", ("hosts.web.transport.congestion_control=cubic",), 5),
        ("bonding-programs", ("gateways.bond.program=openvpn", "gateways.bond.protocol=mptcp"), 20),
        ("ten-to-one", ("gateways.bond.program=openvpn", "gateways.bond.protocol=mptcp"), 20),
    ],
)
def test_hystart_is_what_slows_cubic_down_in_a_tunnel(
    bench: Bench, example: str, settings: tuple[str, ...], megabytes: int
) -> None:
    """The tunnel's packets take two paths, so that delays rise and fall: cubic takes the rise for a full queue.

    Reno has 37 Mbit/s in the first example, and its slow start does not look at delays. Without HyStart,
    cubic's does not either.
    """
    (run,) = load(EXAMPLES / f"{example}.toml", overrides=settings, repeats=1).runs
    plan = compile_plan(run.point.scenario, seed=run.seed)
    with_it, exits = _mbps(bench, plan, megabytes)
    without, others = _mbps(bench, replace(plan, setup=(*plan.setup, WITHOUT_HYSTART)), megabytes)
    note(f"gateway {example} cubic Mbit/s", with_it)
    note(f"gateway {example} cubic without HyStart Mbit/s", without)
    print(f"slow starts that HyStart ended at the web server: {exits}, and without it {others}")
    assert exits > 0
    assert others == 0
    # The cause is shown if cubic has a multiple without it. 2 is less than what reno has there.
    assert without > 2 * with_it, (with_it, without)


def _mbps(bench: Bench, plan: Plan, megabytes: int) -> tuple[float, int]:
    """Return the goodput of the download in a plan, and how many slow starts of the web server HyStart ended."""
    output = bench.live(plan)
    (client,) = (program for program in output.outcome.programs if program["name"] == "fetch.client")
    counted = output.counter("web", "nstat.json")["kernel"]
    ended = sum(counted.get(f"TcpExtTCPHystart{kind}Detect", 0) for kind in ("Train", "Delay"))
    return 8e9 * megabytes / (client["end_ns"] - client["start_ns"]), ended
