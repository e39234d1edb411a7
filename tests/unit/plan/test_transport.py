# SPDX-License-Identifier: MIT
"""Addresses, routes and transports as ``ip`` and ``sysctl`` commands on each node."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest

from mptcplab.plan.compile import compile_plan
from mptcplab.plan.model import Plan
from mptcplab.scenario import presets
from mptcplab.scenario.schema import Scenario


def scenario(topology: dict[str, Any], *, transport: dict[str, Any] | None = None, **keys: Any) -> Scenario:
    """Return a preset with a flow from client to server; ``transport`` applies to every host."""
    tables = presets.expand(presets.Topology.model_validate(topology))
    for host in tables["hosts"].values():
        host["transport"] = transport or {}
    bulk = {"kind": "flow", "from": "client", "to": "server", "duration": "10 s"}
    return Scenario.model_validate({"title": "t", **tables, "workloads": {"bulk": bulk}, **keys})


def commands(plan: Plan, node: str, *beginning: str) -> list[str]:
    """Return the commands of ``node`` that begin with ``beginning``, without it."""
    cut = len(beginning)
    return [" ".join(c.argv[cut:]) for c in plan.setup if c.node == node and c.argv[:cut] == beginning]


def endpoints(plan: Plan, node: str) -> list[str]:
    return commands(plan, node, "ip", "mptcp", "endpoint", "add")


def plan_of(topology: dict[str, Any], **keys: Any) -> Plan:
    return compile_plan(scenario(topology, **keys), seed=1)


LINES = {"preset": "disjoint-paths", "paths": 2}


# -- endpoints


def test_disjoint_paths() -> None:
    """The client joins from the address that its route to an announced address selects; link1 has the first subflow."""
    plan = plan_of({"preset": "disjoint-paths", "paths": 3})
    assert endpoints(plan, "client") == ["10.0.1.1 dev access1 subflow"]
    assert endpoints(plan, "server") == ["10.0.4.2 dev link2 signal", "10.0.6.2 dev link3 signal"]
    for host in ("client", "server"):
        assert commands(plan, host, "ip", "mptcp", "limits", "set") == ["subflows 8 add_addr_accepted 8"]


@pytest.mark.parametrize(
    "topology", [{"preset": "direct"}, {"preset": "chain"}, {"preset": "disjoint-paths", "paths": 1}]
)
def test_hosts_with_one_address_need_no_endpoints(topology: dict[str, Any]) -> None:
    plan = plan_of(topology)
    assert endpoints(plan, "client") == endpoints(plan, "server") == []


def test_shared_bottleneck() -> None:
    plan = plan_of({"preset": "shared-bottleneck", "paths": 2})
    assert endpoints(plan, "client") == ["10.0.1.1 dev access1 subflow", "10.0.2.1 dev access2 subflow"]
    for host in ("server", "client2", "server2"):
        assert endpoints(plan, host) == []


def test_fullmesh() -> None:
    plan = plan_of(LINES, transport={"endpoints": "fullmesh"})
    assert endpoints(plan, "client") == [
        "10.0.1.1 dev access1 subflow fullmesh",
        "10.0.3.1 dev access2 subflow fullmesh",
    ]
    assert endpoints(plan, "server") == ["10.0.4.2 dev link2 signal"]


def test_none() -> None:
    plan = plan_of(LINES, transport={"endpoints": "none"})
    assert endpoints(plan, "client") == endpoints(plan, "server") == []


def test_listed_endpoints_in_their_order() -> None:
    made = scenario(LINES).model_dump(by_alias=True)
    made["hosts"]["client"]["transport"]["endpoints"] = [
        {"link": "access2", "flags": ["signal", "backup"], "port": 80},
        {"link": "access1"},
    ]
    plan = compile_plan(Scenario.model_validate(made), seed=1)
    assert endpoints(plan, "client") == [
        "10.0.3.1 dev access2 port 80 signal backup",
        "10.0.1.1 dev access1 subflow",
    ]


@pytest.mark.parametrize(
    ("topology", "modes", "added"),
    [
        (LINES, {"access2": "backup"}, ["10.0.1.1 dev access1 subflow", "10.0.3.1 dev access2 backup"]),
        (LINES, {"access1": "backup"}, ["10.0.1.1 dev access1 subflow backup"]),
        (LINES, {"access2": "master"}, ["10.0.1.1 dev access1 subflow"]),
        ({"preset": "direct"}, {"link1": "backup"}, ["10.0.1.1 dev link1 backup"]),
    ],
)
def test_a_backup_of_the_kernels_path_manager(
    topology: dict[str, Any], modes: dict[str, str], added: list[str]
) -> None:
    """An address that needs no endpoint gets one with this flag alone, which opens no subflow."""
    made = scenario(topology).model_dump(by_alias=True)
    made["hosts"]["client"]["transport"]["modes"] = modes
    assert endpoints(compile_plan(Scenario.model_validate(made), seed=1), "client") == added


def test_tcp_hosts_have_no_mptcp_commands() -> None:
    plan = plan_of(LINES, transport={"protocol": "tcp"})
    assert not [command for command in plan.setup if command.argv[:2] == ("ip", "mptcp")]
    assert not any("--mptcp" in program.argv for program in plan.programs)


def test_workload_in_the_other_direction_swaps_the_roles() -> None:
    bulk = {"kind": "flow", "from": "server", "to": "client", "duration": "10 s"}
    plan = plan_of(LINES, workloads={"bulk": bulk})
    assert all(text.endswith(" subflow") for text in endpoints(plan, "server"))
    assert all(text.endswith(" signal") for text in endpoints(plan, "client"))


# -- settings


def test_settings_of_hosts_and_routers() -> None:
    transport = {
        "congestion_control": "cubic",
        "scheduler": "default",
        "path_manager": "userspace",
        "tcp_rmem": ["4 KiB", "128 KiB", "6 MiB"],
        "sysctl": {"net.ipv4.tcp_ecn": 1},
    }
    plan = plan_of(LINES, transport=transport)
    assert commands(plan, "client", "sysctl", "-qw") == [
        "net.mptcp.enabled=1 net.mptcp.pm_type=1 net.ipv4.tcp_congestion_control=cubic net.mptcp.scheduler=default "
        "net.ipv4.tcp_rmem=4096 131072 6291456 net.ipv4.tcp_ecn=1"
    ]
    assert commands(plan, "r1", "sysctl", "-qw") == ["net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1"]


def test_defaults_are_left_to_the_kernel() -> None:
    assert commands(plan_of(LINES), "client", "sysctl", "-qw") == ["net.mptcp.enabled=1 net.mptcp.pm_type=0"]


# -- weights


def weights(plan: Plan, host: str) -> str:
    """Return the value of the host's scheduler_weights; empty if it is not set."""
    (line,) = commands(plan, host, "sysctl", "-qw")
    _, key, value = line.partition("net.mptcp.scheduler_weights=")
    return value if key else ""


def test_weights_are_by_addresses_at_the_ends_of_subflows() -> None:
    """The access links end at the client, the others at the server: each host can use both."""
    for names in ({"link1": 3, "link2": 1}, {"access1": 3, "access2": 1}):
        plan = plan_of(LINES, transport={"scheduler": "weighted", "weights": names})
        expected = "10.0.2.2=3 10.0.4.2=1" if "link1" in names else "10.0.1.1=3 10.0.3.1=1"
        assert weights(plan, "client") == weights(plan, "server") == expected
        assert plan.needs.weights


def test_weights_of_ipv6() -> None:
    transport = {"scheduler": "priority", "weights": {"link2": 9}}
    assert weights(plan_of(LINES, transport=transport, family="ipv6"), "client") == "fd00:6d70:7463:4::2=9"


def test_weights_of_links_between_two_hosts_are_by_the_own_end() -> None:
    plan = plan_of({"preset": "direct"}, transport={"scheduler": "weighted", "weights": {"link1": 2}})
    assert (weights(plan, "client"), weights(plan, "server")) == ("10.0.1.1=2", "10.0.1.2=2")


def test_hosts_without_subflows_on_a_link_are_left_out() -> None:
    shared = {"preset": "shared-bottleneck", "paths": 2}
    plan = plan_of(shared, transport={"scheduler": "weighted", "weights": {"access1": 2}})
    assert weights(plan, "client") == weights(plan, "server") == "10.0.1.1=2"
    assert weights(plan, "client2") == ""


@pytest.mark.parametrize("scheduler", ["default", "roundrobin", None])
def test_weights_need_a_scheduler_that_uses_them(scheduler: str | None) -> None:
    """So a sweep over schedulers may have weights, also with kernels that do not support them."""
    plan = plan_of(LINES, transport={"scheduler": scheduler, "weights": {"link1": 3}})
    assert weights(plan, "client") == ""
    assert not plan.needs.weights


def test_weights_are_set_for_a_scheduler_of_a_workload() -> None:
    bulk = {"kind": "flow", "from": "client", "to": "server", "duration": "10 s", "scheduler": "weighted"}
    plan = plan_of(LINES, transport={"weights": {"link1": 3}}, workloads={"bulk": bulk})
    assert weights(plan, "client") == "10.0.2.2=3"


# -- addresses and routes


def test_route_tables_of_a_host_with_two_links() -> None:
    plan = plan_of(LINES)
    assert commands(plan, "client", "ip", "rule", "add") == [
        "from 10.0.1.1 table 100 priority 100",
        "from 10.0.3.1 table 101 priority 101",
    ]
    assert commands(plan, "client", "ip", "route", "add") == [
        "10.0.2.0/24 via 10.0.1.2 dev access1 src 10.0.1.1",
        "10.0.4.0/24 via 10.0.3.2 dev access2 src 10.0.3.1",
        "10.0.1.0/24 dev access1 table 100",
        "10.0.2.0/24 via 10.0.1.2 dev access1 table 100",
        "10.0.3.0/24 dev access2 table 101",
        "10.0.4.0/24 via 10.0.3.2 dev access2 table 101",
    ]
    assert commands(plan, "r1", "ip", "rule", "add") == []


def test_tables_of_many_links_are_not_the_kernels() -> None:
    links = {f"l{number}": {"between": ["client", "server"]} for number in range(160)}
    bulk = {"kind": "flow", "from": "client", "to": "server", "duration": "10 s"}
    document = {"title": "t", "hosts": {"client": {}, "server": {}}, "links": links, "workloads": {"bulk": bulk}}
    plan = compile_plan(Scenario.model_validate(document), seed=1)
    tables = [int(rule.split()[3]) for rule in commands(plan, "client", "ip", "rule", "add")]
    assert len(set(tables)) == 160, "each link has a table of its own"
    assert not {253, 254, 255} & set(tables), f"default, main and local are in use by the kernel: {tables}"


def test_host_with_one_link_has_one_table() -> None:
    plan = plan_of({"preset": "chain", "routers": 2})
    assert commands(plan, "client", "ip", "rule", "add") == []
    assert commands(plan, "client", "ip", "route", "add") == [
        "10.0.2.0/24 via 10.0.1.2 dev client-r1 src 10.0.1.1",
        "10.0.3.0/24 via 10.0.1.2 dev client-r1 src 10.0.1.1",
    ]
    assert commands(plan, "r1", "ip", "route", "add") == ["10.0.3.0/24 via 10.0.2.2 dev link1"]


def test_parallel_links_between_two_routers() -> None:
    tables = {
        "hosts": {"client": {}, "server": {}},
        "routers": {"r1": {}, "r2": {}},
        "links": {
            "a": {"between": ["client", "r1"]},
            "one": {"between": ["r1", "r2"]},
            "two": {"between": ["r2", "r1"]},
            "z": {"between": ["r2", "server"]},
        },
    }
    bulk = {"kind": "flow", "from": "client", "to": "server", "duration": "10 s"}
    plan = compile_plan(Scenario.model_validate({"title": "t", **tables, "workloads": {"bulk": bulk}}), seed=1)
    assert commands(plan, "r1", "ip", "route", "add") == ["10.0.4.0/24 via 10.0.2.2 dev one"]
    assert commands(plan, "r2", "ip", "route", "add") == ["10.0.1.0/24 via 10.0.2.1 dev one"]
    assert commands(plan, "r1", "ip", "address", "add") == [
        "10.0.1.2/24 dev a",
        "10.0.2.1/24 dev one",
        "10.0.3.2/24 dev two",
    ]


def test_parallel_links_between_two_hosts() -> None:
    tables = presets.expand(presets.Topology.model_validate({"preset": "direct"}))
    tables["links"]["link2"] = {"between": ["client", "server"]}
    bulk = {"kind": "flow", "from": "client", "to": "server", "duration": "10 s"}
    plan = compile_plan(Scenario.model_validate({"title": "t", **tables, "workloads": {"bulk": bulk}}), seed=1)
    assert commands(plan, "client", "ip", "rule", "add") == [
        "from 10.0.1.1 table 100 priority 100",
        "from 10.0.2.1 table 101 priority 101",
    ]
    assert endpoints(plan, "server") == ["10.0.2.2 dev link2 signal"]


@pytest.mark.parametrize("topology", [LINES, {"preset": "chain"}, {"preset": "shared-bottleneck", "paths": 3}])
def test_every_route_leads_through_a_neighbour(topology: dict[str, Any]) -> None:
    plan = plan_of(topology)
    owner: dict[str, tuple[str, str]] = {}
    for command in plan.setup:
        if command.argv[:3] == ("ip", "address", "add"):
            address = ipaddress.ip_interface(command.argv[3])
            owner[str(address.ip)] = (str(command.node), str(address.network))
    for command in plan.setup:
        if command.argv[:3] == ("ip", "route", "add") and "via" in command.argv:
            gateway = command.argv[command.argv.index("via") + 1]
            neighbour, network = owner[gateway]
            assert neighbour != command.node
            assert network in {net for node, net in owner.values() if node == command.node}
            if "src" in command.argv:
                assert owner[command.argv[command.argv.index("src") + 1]][0] == command.node


def test_ipv6() -> None:
    """Commands infer the family from addresses, except rules, which need it as an option."""
    plan = plan_of(LINES, family="ipv6")
    assert commands(plan, "client", "ip", "address", "add") == [
        "fd00:6d70:7463:1::1/64 dev access1 nodad",
        "fd00:6d70:7463:3::1/64 dev access2 nodad",
    ]
    assert endpoints(plan, "server") == ["fd00:6d70:7463:4::2 dev link2 signal"]
    assert commands(plan, "client", "ip", "-6", "rule", "add")[0] == "from fd00:6d70:7463:1::1 table 100 priority 100"
    assert not any("10.0." in " ".join(command.argv) for command in plan.setup)
