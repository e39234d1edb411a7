# SPDX-License-Identifier: MIT
"""Congestion control, scheduler and weights: what a scenario asks for is what its sockets use, and is seen to be."""

from __future__ import annotations

import pytest
from tests.lab.bench import Bench, bare_plan, client

from mptcplab.metrics.rows import result_rows

LINES = """
[topology]
preset = "disjoint-paths"

[links.link1]
rate = "20 Mbit/s"
delay = "5 ms"

[links.link2]
rate = "20 Mbit/s"
delay = "5 ms"
"""
WORKLOADS = {
    "flow": 'kind = "flow"\nduration = "3 s"',
    "iperf3": 'kind = "iperf3"\nduration = "3 s"',
    "transfer": 'kind = "transfer"\nsize = "8 MB"',
}


def scenario(kind: str, more: str = "") -> str:
    return f'{LINES}\n[workloads.bulk]\nfrom = "client"\nto = "server"\n{WORKLOADS[kind]}\n{more}'


@pytest.mark.parametrize("kind", WORKLOADS)
def test_sockets_use_what_the_workload_asks_for(bench: Bench, kind: str) -> None:
    """Not the host's choice, which is another one; on both subflows."""
    row = bench.row(
        scenario(kind, 'congestion_control = "lia"\nscheduler = "roundrobin"'), "transport.scheduler=redundant"
    )
    print(row.congestion, row.scheduler, row.mptcp, row.warnings)
    assert (row.congestion, row.scheduler, row.warnings) == ("lia", "roundrobin", ())


def test_sockets_use_what_the_host_says(bench: Bench) -> None:
    text = scenario("flow") + '[sweep]\n"transport.congestion_control" = ["olia", "reno"]\n'
    rows = bench.rows(text + '"hosts.client.transport.scheduler" = ["minrtt", "default"]\n')
    algorithms = [(row.congestion, row.scheduler) for row in rows]
    assert algorithms == [("olia", "minrtt"), ("olia", "default"), ("reno", "minrtt"), ("reno", "default")]
    assert not [warning for row in rows for warning in row.warnings]


def test_of_a_download_the_server_decides(bench: Bench) -> None:
    text = scenario("flow", 'reverse = true\n[hosts.server.transport]\nscheduler = "roundrobin"\n')
    row = bench.row(text + 'congestion_control = "balia"')
    assert (row.congestion, row.scheduler) == ("balia", "roundrobin")


def test_weights_by_names_of_links(bench: Bench) -> None:
    """Both lines are equal, so that without weights each would carry half."""
    text = scenario("flow") + '[transport]\nscheduler = "weighted"\nweights = { link1 = 3, link2 = 1 }\n'
    (recording,) = bench.record(text)
    sysctl = recording.counter("client", "sysctl.txt")
    print(sysctl)
    assert "net.mptcp.scheduler_weights = 10.0.2.2=3 10.0.4.2=1" in sysctl
    (row,) = result_rows([recording])
    print(row.shares)
    assert row.shares["access1>link1"] > row.shares["access2>link2"], "three parts against one"


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("transport.congestion_control=lai", "this kernel has no congestion control 'lai': it has "),
        ("transport.scheduler=roundrobbin", "this kernel has no MPTCP scheduler 'roundrobbin': it has "),
        ("workloads.bulk.scheduler=roundrobbin", "this kernel has no MPTCP scheduler 'roundrobbin': it has "),
        ("workloads.bulk.congestion_control=lai", "this kernel has no congestion control 'lai': it has "),
    ],
)
def test_names_that_the_kernel_does_not_have(bench: Bench, setting: str, said: str) -> None:
    (done,) = bench.try_all(bench.experiment(scenario("flow"), setting))
    assert done.error is not None
    print(done.error.message)
    assert done.error.message.startswith(said)


def test_a_complaint_of_the_kernel_keeps_its_log(bench: Bench) -> None:
    """Said by a program, since the kernel has no reason to; the guest cannot tell them apart."""
    lived = bench.live(bare_plan(client("c", "sh", "-c", "echo '<4>WARNING: here' > /dev/kmsg")))
    assert "WARNING: here" in (lived.folder / "kernel.txt").read_text()
    quiet = bench.live(bare_plan(client("c", "true")))
    assert not (quiet.folder / "kernel.txt").exists()
