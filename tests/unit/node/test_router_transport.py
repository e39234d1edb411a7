# SPDX-License-Identifier: MIT
"""Routers with sockets of their own: keys, routes, endpoints, path manager, shaping, and their description."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from mptcplab.campaign.contract import describe_scenario
from mptcplab.node.context import NodeContext
from mptcplab.node.mptcp import endpoints_of
from mptcplab.node.router import Router
from mptcplab.node.transport import Transport
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.model import Plan
from mptcplab.report.scenario_toml import scenario_toml, tables_without_defaults
from mptcplab.report.topology import networks
from mptcplab.scenario.load import load
from mptcplab.scenario.network import Connections, Network
from mptcplab.scenario.schema import Scenario

#: Two routers with two links between them and a host at each, and a third router with a longer way round.
TEXT = """
title = "t"

[hosts.pc]
[hosts.server]
[routers.r1]
[routers.r2]

[links.lan]
between = ["pc", "r1"]
[links.dc]
between = ["r2", "server"]
[links.a]
between = ["r1", "r2"]
rate = "20 Mbit/s"
[links.b]
between = ["r1", "r2"]
rate = "10 Mbit/s"

[workloads.bulk]
kind = "iperf3"
from = "r1"
to = "r2"
duration = "5 s"
"""
BOTH = "[routers.r1.transport]\n[routers.r2.transport]\n"


def _scenario(tmp_path: Path, more: str, *overrides: str, text: str = TEXT) -> Scenario:
    file = tmp_path / "a.toml"
    file.write_text(f"{text}{more}")
    return load(file, overrides=overrides).points[0].scenario


def _plan(tmp_path: Path, more: str, *overrides: str, text: str = TEXT) -> Plan:
    return compile_plan(_scenario(tmp_path, more, *overrides, text=text), seed=1)


def _commands(plan: Plan, node: str, *beginning: str) -> list[str]:
    """Return the commands of ``node`` that begin with ``beginning``, without it."""
    cut = len(beginning)
    return [" ".join(c.argv[cut:]) for c in plan.setup if c.node == node and c.argv[:cut] == beginning]


def _endpoints(plan: Plan, node: str) -> list[str]:
    return _commands(plan, node, "ip", "mptcp", "endpoint", "add")


def _transport(scenario: Scenario, node: str) -> Transport:
    transport = scenario.nodes[node].own_transport
    assert transport is not None
    return transport


# -- keys


def test_a_router_with_the_table_inherits_from_the_common_one(tmp_path: Path) -> None:
    common = '[transport]\nprotocol = "tcp"\ncongestion_control = "reno"\nsysctl = { "net.ipv4.tcp_ecn" = 1 }\n'
    table = '[routers.r1.transport]\nprotocol = "mptcp"\nsysctl = { "net.mptcp.checksum_enabled" = 1 }\n'
    scenario = _scenario(tmp_path, common + table, "workloads.bulk.to=server")
    it = _transport(scenario, "r1")
    assert (it.protocol, it.congestion_control) == ("mptcp", "reno")
    assert it.sysctl == {"net.mptcp.checksum_enabled": 1, "net.ipv4.tcp_ecn": 1}
    assert scenario.nodes["r2"].own_transport is None, "it has no table"
    assert _transport(scenario, "pc").protocol == "tcp"


def test_an_empty_table_is_a_transport_and_is_shown(tmp_path: Path) -> None:
    scenario = _scenario(tmp_path, BOTH)
    assert _transport(scenario, "r1") == Transport()
    shown = scenario_toml(tables_without_defaults(scenario), first={"title": "t"})
    assert "[routers.r1.transport]\n" in shown
    again = tmp_path / "shown.toml"
    again.write_text(shown)
    assert load(again).points[0].scenario == scenario


def test_a_router_without_the_table_is_recorded_as_ever() -> None:
    assert json.loads(Router().model_dump_json()) == {
        "sysctl": {},
        "nat": [],
        "middlebox": {"strip": [], "drop": [], "mangle": [], "damage": "0 ppb", "out": []},
    }


def test_keys_are_swept_also_with_wildcards(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(f'{TEXT}{BOTH}[sweep]\n"routers.*.transport.protocol" = ["tcp", "mptcp"]\n')
    protocols = [[_transport(point.scenario, name).protocol for name in ("r1", "r2")] for point in load(file).points]
    assert protocols == [["tcp", "tcp"], ["mptcp", "mptcp"]]


# -- the plan


def test_settings_are_those_of_a_host_and_of_a_router(tmp_path: Path) -> None:
    more = '[routers.r1.transport]\nscheduler = "blest"\ncongestion_control = "olia"\n[routers.r2.transport]\n'
    (settings,) = _commands(_plan(tmp_path, more), "r1", "sysctl", "-qw")
    assert settings == (
        "net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.mptcp.enabled=1 net.mptcp.pm_type=0 "
        "net.ipv4.tcp_congestion_control=olia net.mptcp.scheduler=blest"
    )
    plan = _plan(tmp_path, more)
    assert (plan.needs.schedulers, plan.needs.congestion_controls) == (("blest",), ("olia",))


def test_rules_select_by_source_address(tmp_path: Path) -> None:
    """A forwarded packet has none of these addresses, so the main table routes it."""
    plan = _plan(tmp_path, BOTH)
    assert _commands(plan, "r1", "ip", "rule", "add") == [
        "from 10.0.1.2 table 100 priority 100",
        "from 10.0.3.1 table 101 priority 101",
        "from 10.0.4.1 table 102 priority 102",
    ]
    routes = _commands(plan, "r1", "ip", "route", "add")
    assert "10.0.2.0/24 via 10.0.3.2 dev a src 10.0.3.1" in routes
    assert "10.0.2.0/24 via 10.0.4.2 dev b table 102" in routes, "what b sends to the server leaves by b"
    assert not [route for route in routes if route.endswith("table 100") and "via" in route], "the LAN leads nowhere"


def test_a_path_that_comes_back_is_none(tmp_path: Path) -> None:
    """``r3`` reaches the server by way of ``r1``: what ``r1`` would send there, it would get back and discard."""
    more = '[routers.r3]\n[links.side]\nbetween = ["r1", "r3"]\n[links.far]\nbetween = ["r3", "r4"]\n[routers.r4]\n'
    more += '[links.farther]\nbetween = ["r4", "r5"]\n[routers.r5]\n[links.round]\nbetween = ["r5", "r2"]\n'
    routes = _commands(_plan(tmp_path, BOTH + more), "r1", "ip", "route", "add")
    behind_side = [route for route in routes if "dev side table" in route]
    assert behind_side == ["10.0.5.0/24 dev side table 103"] + [
        f"10.0.{number}.0/24 via 10.0.5.2 dev side table 103" for number in (6, 7)
    ]


def test_the_master_concerns_own_connections_only(tmp_path: Path) -> None:
    """Forwarded packets stay on the shortest path, whose first link is ``a``."""
    more = f'{BOTH}path_manager = "userspace"\n'
    more = more.replace("[routers.r2", 'path_manager = "userspace"\nmodes = { b = "master" }\n[routers.r2')
    plan = _plan(tmp_path, more, "workloads.bulk.to=server")
    assert "iif lo table 99 priority 30000" in _commands(plan, "r1", "ip", "rule", "add")
    to_server = [route for route in _commands(plan, "r1", "ip", "route", "add") if route.startswith("10.0.2.0/24")]
    assert to_server[:2] == [
        "10.0.2.0/24 via 10.0.3.2 dev a src 10.0.3.1",
        "10.0.2.0/24 via 10.0.4.2 dev b src 10.0.4.1 table 99",
    ]
    six = _plan(tmp_path, more, "workloads.bulk.to=server", "family=ipv6")
    assert "iif lo table 99 priority 30000" in _commands(six, "r1", "ip", "-6", "rule", "add")


def test_endpoints_are_on_links_to_the_other_router(tmp_path: Path) -> None:
    """The links to the hosts are not paths, although packets for ``r2`` may come in from its LAN, too."""
    plan = _plan(tmp_path, BOTH)
    assert _endpoints(plan, "r1") == ["10.0.3.1 dev a subflow"]
    assert _endpoints(plan, "r2") == ["10.0.4.2 dev b signal"]
    (client,) = [program for program in plan.programs if program.name == "bulk.client"]
    assert client.node == "r1"
    assert "10.0.3.2" in client.argv, "not its address on dc, although that link is the first"


def test_endpoints_to_a_server_behind_the_other_router(tmp_path: Path) -> None:
    plan = _plan(tmp_path, BOTH, "workloads.bulk.to=server")
    assert _endpoints(plan, "r1") == ["10.0.3.1 dev a subflow", "10.0.4.1 dev b subflow"]
    assert _endpoints(plan, "r2") == [], "no connection begins or ends there"


def test_endpoints_as_written(tmp_path: Path) -> None:
    listed = '[routers.r1.transport]\nendpoints = [{ link = "lan", flags = ["signal"] }, { link = "b" }]\n'
    plan = _plan(tmp_path, listed, "workloads.bulk.from=pc", "workloads.bulk.to=server")
    assert _endpoints(plan, "r1") == ["10.0.1.2 dev lan signal", "10.0.4.1 dev b subflow"]
    full = _plan(tmp_path, f'{BOTH}endpoints = "fullmesh"\n', "routers.r1.transport.endpoints=fullmesh")
    assert _endpoints(full, "r1") == ["10.0.3.1 dev a subflow fullmesh", "10.0.4.1 dev b subflow fullmesh"]


def test_the_path_manager_of_a_router(tmp_path: Path) -> None:
    more = '[transport]\npath_manager = "userspace"\nsubflows_per_pair = 2\n' + BOTH
    plan = _plan(tmp_path, more, 'routers.r1.transport.modes={ b = "handover" }')
    managers = {program.name: json.loads(program.argv[1]) for program in plan.programs if "manager" in program.name}
    assert managers["path-manager.router-r1"] == {
        "paths": [
            {"link": "a", "address": "10.0.3.1", "id": 1, "mode": "on", "reaches": ["10.0.3.2"]},
            {"link": "b", "address": "10.0.4.1", "id": 2, "mode": "handover", "reaches": ["10.0.4.2"]},
        ],
        "full_mesh": False,
        "subflows_per_pair": 2,
    }
    assert _endpoints(plan, "r1") == []


def test_its_egress_is_shaped_at_the_far_end(tmp_path: Path) -> None:
    """As between hosts: its sockets see no queue."""
    shaped = {(queue.node, queue.device) for queue in _plan(tmp_path, BOTH).queues}
    assert shaped == {("r1", "ifb.3"), ("r2", "ifb.3"), ("r1", "ifb.4"), ("r2", "ifb.4")}
    plain = _plan(tmp_path, "[routers.r1.transport]\n", "workloads.bulk.to=server")
    assert {(queue.node, queue.device) for queue in plain.queues} == {
        ("r2", "ifb.3"),
        ("r2", "a"),
        ("r2", "ifb.4"),
        ("r2", "b"),
    }
    at_receiver = _plan(tmp_path, BOTH, "links.a.shape=sender")
    assert {queue.device for queue in at_receiver.queues if queue.link == "a"} == {"a"}


def test_counters_of_a_router(tmp_path: Path) -> None:
    names = [counter.name for counter in _plan(tmp_path, BOTH).counters if counter.node == "r1"]
    assert {"nstat.json", "mptcp-endpoint.json", "mptcp-limits.json", "sysctl.txt"} < set(names)


def test_an_address_that_goes_takes_its_endpoint_along(tmp_path: Path) -> None:
    more = BOTH + '[[events]]\nat = "1 s"\ntype = "address-removed"\nlink = "a"\nnode = "r1"\n'
    (event,) = _plan(tmp_path, more).events
    assert [" ".join(command.argv) for command in event.commands] == [
        "ip mptcp endpoint delete id 1",
        "ip address delete 10.0.3.1/24 dev a",
    ]


# -- its description


def test_manifest_and_picture(tmp_path: Path) -> None:
    scenario = _scenario(tmp_path, f'{BOTH}scheduler = "blest"\ncongestion_control = "olia"\n')
    nodes = {node["name"]: node for node in describe_scenario(Network(scenario), scenario.server_ports)["nodes"]}
    assert nodes["r1"]["transport"]["protocol"] == "mptcp"
    assert nodes["r2"]["endpoints"] == [{"address": "10.0.4.2", "link": "b", "port": None, "flags": ["signal"]}]
    (picture,) = networks([json.loads(scenario.model_dump_json(by_alias=True))])
    assert "r1 speaks MPTCP;" in f"{picture.text};"
    assert "r2 speaks MPTCP (blest, olia)" in picture.text


# -- other programs that open connections


class _WithGateway(Network):
    """A network in which a program on ``r1`` connects to one on ``r2``."""

    def connections(self) -> Iterator[Connections]:
        yield from super().connections()
        yield Connections("r1", "r2", self.nearest_port("r1", "r2"), None)


@pytest.mark.parametrize(("network", "endpoints"), [(Network, []), (_WithGateway, [("a", ("subflow",))])])
def test_endpoints_follow_from_connections_of_any_kind(
    tmp_path: Path, network: type[Network], endpoints: list[tuple[str, tuple[str, ...]]]
) -> None:
    scenario = _scenario(tmp_path, BOTH, "workloads.bulk.from=pc", "workloads.bulk.to=server")
    context: NodeContext = network(scenario).context_of("r1")
    assert [(port.link, words) for port, words in endpoints_of(context, Transport())] == endpoints
