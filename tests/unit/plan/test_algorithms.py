# SPDX-License-Identifier: MIT
"""Congestion control and scheduler per socket: options of workloads, and requirements on the kernel."""

from __future__ import annotations

from typing import Any

import pytest

from mptcplab.plan.compile import compile_plan
from mptcplab.plan.model import Needs, Plan
from mptcplab.scenario import presets
from mptcplab.scenario.schema import Scenario


def plan_of(*, protocol: str = "mptcp", transport: dict[str, Any] | None = None, **workload: Any) -> Plan:
    """Compile two paths with one workload from client to server."""
    tables = presets.expand(presets.Topology.model_validate({"preset": "disjoint-paths"}))
    for host in tables["hosts"].values():
        host["transport"] = {"protocol": protocol, **(transport or {})}
    bulk = {"kind": "flow", "from": "client", "to": "server", "size": "1 MB", **workload}
    return compile_plan(Scenario.model_validate({"title": "t", **tables, "workloads": {"bulk": bulk}}), seed=1)


def lines(plan: Plan) -> list[str]:
    return [" ".join(program.argv) for program in plan.programs]


BOTH: dict[str, Any] = {"congestion_control": "lia", "scheduler": "redundant"}


def test_flow_sets_both_on_both_hosts() -> None:
    server, client = lines(plan_of(**BOTH))
    for line in (server, client):
        assert "--congestion lia --scheduler redundant" in line


def test_iperf3_has_an_option_for_one_and_a_library_for_the_other() -> None:
    server, client = lines(plan_of(kind="iperf3", **BOTH))
    with_library = "mptcpize run mptcplab-flow with --scheduler=redundant iperf3"
    assert server == f"{with_library} -s -1 -p 5001"
    assert client.startswith(f"{with_library} -c 10.0.2.2 -p 5001 -J")
    assert client.endswith("-C lia")


def test_transfer_has_a_library_for_both() -> None:
    for line in lines(plan_of(kind="transfer", **BOTH)):
        assert "mptcpize run mptcplab-flow with --congestion=lia --scheduler=redundant socat" in line


@pytest.mark.parametrize("kind", ["flow", "iperf3", "transfer"])
def test_tcp_has_no_scheduler(kind: str) -> None:
    plan = plan_of(protocol="tcp", kind=kind, scheduler="redundant")
    assert not any("redundant" in line for line in lines(plan))
    assert plan.needs == Needs()


@pytest.mark.parametrize("kind", ["flow", "iperf3", "transfer"])
def test_without_algorithms_nothing_is_preloaded(kind: str) -> None:
    assert not any(" with " in line for line in lines(plan_of(kind=kind)))


def test_a_wrapped_program_is_part_of_the_identity() -> None:
    plan = plan_of(kind="iperf3", **BOTH)
    assert {"iperf3", "mptcpize"} <= set(plan.uses)


def test_the_kernel_needs_the_algorithms_of_hosts_and_sockets() -> None:
    transport = {"congestion_control": "olia", "scheduler": "blest"}
    plan = plan_of(transport=transport, **BOTH)
    assert plan.needs == Needs(("olia", "lia"), ("blest", "redundant"), scheduler_per_socket=True)
    assert plan_of(transport=transport).needs == Needs(("olia",), ("blest",))


def test_sockets_of_all_hosts_with_workloads_are_watched() -> None:
    assert plan_of().watched == ("client", "server")
    assert plan_of().sampled == ()
