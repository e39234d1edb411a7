# SPDX-License-Identifier: MIT
"""Gateways in plans: command lines and configuration files, rules, order, endpoints, outages, routes of a tunnel."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.gateway_network import LOCAL, PROXIES, Make, gateway, line_of, plan_of, program_of, scenario, workload
from tests.unit.plan.test_uses import _undeclared_steps

from mptcplab.campaign import identity
from mptcplab.campaign.gateways import describe_gateways
from mptcplab.campaign.identity import identify
from mptcplab.gateway.registry import PROGRAMS
from mptcplab.guest.sampler import SAMPLER
from mptcplab.node.mptcp import endpoints_of
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.model import Plan
from mptcplab.plan.script import script
from mptcplab.scenario import gateways
from mptcplab.scenario.load import load
from mptcplab.scenario.network import Network
from mptcplab.scenario.schema import Scenario

IPV6 = "family=ipv6"


def _rules(plan: Plan, node: str, *programs: str) -> list[str]:
    """Return the rules that a node gets from ``programs``, one a line."""
    texts = [
        " ".join(command.argv[1:]) for command in plan.setup if command.node == node and command.argv[0] in programs
    ]
    return [line for text in texts for line in re.split("; (?!})", text)]


# -- programs


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_exit_starts_before_the_entry_and_both_before_the_workload(make: Make, program: str) -> None:
    plan = plan_of(make(gateway(program)))
    sides = [(program.name, program.node, program.role, program.start_ns) for program in plan.programs]
    assert sides[:2] == [("gateway.exit-bond", "vps", "server", 0), ("gateway.entry-bond", "home", "server", 0)]
    assert [name for name, *_ in sides[2:]] == ["fetch.server", "fetch.client"]
    assert set(plan.sampled) == {"laptop", "web", "home", "vps"}, "all ends of connections"
    assert set(plan.watched) == {"laptop", "web", "home", "vps"}
    assert plan.to_json() == plan_of(make(gateway(program))).to_json()


@pytest.mark.slow
@pytest.mark.parametrize(
    "setting", ["gateways.bond.protocol=tcp", IPV6, 'gateways.bond.outages=[{side="exit",at="1s"}]']
)
@pytest.mark.parametrize("program", PROGRAMS)
def test_plans_declare_their_programs(make: Make, program: str, setting: str) -> None:
    assert _undeclared_steps(plan_of(make(gateway(program)))) == []
    plan = plan_of(make(gateway(program), settings=(setting,)))
    assert _undeclared_steps(plan) == []
    assert "gateway.entry-bond" in script(plan, title="t")


@pytest.mark.parametrize("program", PROXIES)
def test_local_plans_declare_their_programs(make: Make, program: str) -> None:
    made = make(gateway(program, 'mode = "local"'), settings=LOCAL)
    assert _undeclared_steps(plan_of(made)) == []


# -- rules


def test_redirect_by_nft(make: Make) -> None:
    rules = _rules(plan_of(make(gateway("shadowsocks-libev", "local_port = 1085"))), "home", "nft")
    kept = "10.0.1.0/24, 10.0.2.0/24, 10.0.3.0/24, 10.0.4.1, 10.0.5.1"
    assert rules == [
        "add table ip gateway-bond",
        "add chain ip gateway-bond prerouting { type nat hook prerouting priority dstnat; }",
        f"add rule ip gateway-bond prerouting ip daddr {{ 127.0.0.0/8, {kept} }} return",
        "add rule ip gateway-bond prerouting meta l4proto tcp redirect to :1085",
        "add chain ip gateway-bond output { type nat hook output priority -100; }",
        f"add rule ip gateway-bond output ip daddr {{ 127.0.0.0/8, {kept} }} return",
        "add rule ip gateway-bond output meta l4proto tcp redirect to :1085",
    ]


def test_redirect_by_nft_over_ipv6(make: Make) -> None:
    plan = plan_of(make(gateway("go-shadowsocks2"), settings=(IPV6,)))
    rules = _rules(plan, "home", "nft")
    near = ", ".join(f"fd00:6d70:7463:{number}::/64" for number in (1, 2, 3))
    kept = f"::1/128, {near}, fd00:6d70:7463:4::1, fd00:6d70:7463:5::1"
    assert f"add rule ip6 gateway-bond output ip6 daddr {{ {kept} }} return" in rules
    assert not any(rule.startswith("add table ip ") for rule in rules)
    assert _rules(plan, "vps", "nft") == []


@pytest.mark.parametrize(
    ("settings", "program", "kept"),
    [
        (
            (),
            "iptables",
            [
                "127.0.0.0/8",
                "10.0.1.0/24",
                "10.0.2.0/24",
                "10.0.3.0/24",
                "10.0.2.2",
                "10.0.3.2",
                "10.0.4.1",
                "10.0.5.1",
            ],
        ),
        (
            (IPV6,),
            "ip6tables",
            [
                "::1/128",
                *(f"fd00:6d70:7463:{n}::/64" for n in (1, 2, 3)),
                "fd00:6d70:7463:2::2",
                "fd00:6d70:7463:3::2",
                "fd00:6d70:7463:4::1",
                "fd00:6d70:7463:5::1",
            ],
        ),
    ],
)
def test_redirect_by_iptables(make: Make, settings: tuple[str, ...], program: str, kept: list[str]) -> None:
    plan = plan_of(make(gateway("shadowsocks-libev", 'firewall = "iptables"'), settings=settings))
    nat = "-w -t nat"
    assert _rules(plan, "home", "iptables", "ip6tables", "nft") == [
        f"{nat} -N GATEWAY-0",
        *(f"{nat} -A GATEWAY-0 -d {destination} -j RETURN" for destination in kept),
        f"{nat} -A GATEWAY-0 -p tcp -j REDIRECT --to-ports 1080",
        f"{nat} -A PREROUTING -p tcp -j GATEWAY-0",
        f"{nat} -A OUTPUT -p tcp -j GATEWAY-0",
    ]
    assert program in plan.uses


@pytest.mark.parametrize("program", PROXIES)
def test_local_has_no_rules_and_an_address_for_each_workload(make: Make, program: str) -> None:
    more = workload("more", 'through = "bond"', from_="home", to="other"), workload("direct", from_="home", kind="ftp")
    made = make(gateway(program, 'mode = "local"'), *more, settings=LOCAL)
    plan = plan_of(made)
    assert _rules(plan, "home", "nft", "iptables") == []
    clients = {program.name: line_of(program) for program in plan.programs if program.role == "client"}
    assert "--proxy socks5://127.0.1.1:1080 " in clients["fetch.client"]
    assert "--proxy socks5://127.0.1.2:1080 " in clients["more.client"]
    assert "--proxy" not in clients["direct.client"]
    assert gateways.context_of(Network(made), "bond").local == (("fetch", "127.0.1.1"), ("more", "127.0.1.2"))
    assert gateways.carried_workloads(Network(made), "bond") == ["fetch", "more"]


# -- servers that speak MPTCP

SPEAKERS = ("hosts.laptop.transport.protocol=mptcp", "hosts.web.transport.protocol=mptcp")
PASSING = gateway("go-shadowsocks2", "pass_through = true"), workload("plain", to="other")


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_mptcp_to_a_server_that_speaks_it_is_not_redirected(make: Make, family: str) -> None:
    """The rule stands between the exempt destinations and the redirection, in both chains, for this server alone."""
    plan = plan_of(make(*PASSING, settings=(*SPEAKERS, f"family={family}")))
    ip, server = {"ipv4": ("ip", "10.0.4.2"), "ipv6": ("ip6", "fd00:6d70:7463:4::2")}[family]
    rules = [line for line in _rules(plan, "home", "nft") if line.startswith("add rule")]
    for chain, three in (("prerouting", rules[:3]), ("output", rules[3:])):
        beginning = f"add rule {ip} gateway-bond {chain} "
        assert three[1] == f"{beginning}{ip} daddr {{ {server} }} tcp option mptcp exists return"
        assert three[2] == f"{beginning}meta l4proto tcp redirect to :1080"


def test_mptcp_to_a_server_that_speaks_it_is_not_redirected_by_iptables(make: Make) -> None:
    plan = plan_of(make(*PASSING, settings=(*SPEAKERS, "gateways.bond.firewall=iptables")))
    rules = _rules(plan, "home", "iptables")
    passed = "-w -t nat -A GATEWAY-0 -p tcp -d 10.0.4.2 --tcp-option 30 -j RETURN"
    assert rules.index(passed) == rules.index("-w -t nat -A GATEWAY-0 -p tcp -j REDIRECT --to-ports 1080") - 1
    assert sum("--tcp-option" in rule for rule in rules) == 1


@pytest.mark.parametrize(
    ("settings", "carried"),
    [
        (SPEAKERS, ["plain"]),
        (SPEAKERS[:1], ["fetch", "plain"]),
        (SPEAKERS[1:], ["fetch", "plain"]),
        ((*SPEAKERS, "gateways.bond.pass_through=false"), ["fetch", "plain"]),
    ],
    ids=["both speak it", "the server does not", "the client does not", "not asked for"],
)
def test_what_passes_is_not_carried(make: Make, settings: tuple[str, ...], carried: list[str]) -> None:
    network = Network(make(*PASSING, settings=settings))
    assert gateways.carried_workloads(network, "bond") == carried
    assert gateways.list_passing(network, "bond") == [name for name in ("fetch", "plain") if name not in carried]


def test_a_gateway_may_let_everything_pass(make: Make) -> None:
    """With a sweep of the server's protocol, one of its points has nothing for the gateway to carry."""
    made = make(PASSING[0], settings=SPEAKERS)
    (described,) = describe_gateways(Network(made))["gateways"]
    assert described["carried"] == []
    assert described["passed"] == ["10.0.4.2"]


def test_the_default_of_pass_through_is_not_recorded(make: Make) -> None:
    """Recordings from before the key existed have the same scenario."""
    made = make(gateway("go-shadowsocks2", "pass_through = false"))
    assert "pass_through" not in made.model_dump(mode="json")["gateways"]["bond"]
    assert "passed" not in describe_gateways(Network(made))["gateways"][0]


# -- a port that leads to one server

TUNNELS = ["shadowsocks-libev", "go-shadowsocks2"]


@pytest.mark.parametrize("program", TUNNELS)
def test_the_client_of_a_tunnel_connects_to_the_entry(make: Make, program: str) -> None:
    made = make(gateway(program, 'mode = "tunnel"'), workload("direct", from_="home"), settings=LOCAL)
    plan = plan_of(made)
    assert _undeclared_steps(plan) == []
    assert _rules(plan, "home", "nft", "iptables") == []
    clients = {program.name: line_of(program) for program in plan.programs if program.role == "client"}
    assert " http://127.0.1.1:1080/" in clients["fetch.client"]
    assert " http://10.0.4.2:5002/" in clients["direct.client"]
    assert not any("--proxy" in line for line in clients.values()), "no client knows of it"
    (described,) = describe_gateways(Network(made))["gateways"]
    assert described["local"] == {"fetch": "127.0.1.1"}
    assert described["carried"] == ["fetch"]


def test_flows_go_through_a_tunnel(make: Make) -> None:
    flow = workload("bulk", 'through = "bond"', kind="flow", from_="home")
    plan = plan_of(make(gateway("shadowsocks-libev", 'mode = "tunnel"'), flow))
    (client,) = (program for program in plan.programs if program.name == "bulk.client")
    (server,) = (program for program in plan.programs if program.name == "bulk.server")
    assert "--connect 127.0.1.2 --port 1080" in line_of(client)
    assert "--port 5002" in line_of(server)


# -- what it carries


@pytest.mark.parametrize("program", ["xray", "openvpn"])
def test_workloads_that_pass_the_entry_are_carried(make: Make, program: str) -> None:
    made = make(
        gateway(program),
        workload("own", from_="home", to="other"),
        workload("behind_middle", to="other"),
        workload("to_the_exit", to="vps"),
        workload("to_the_entry", to="home"),
        workload("upward", from_="web", to="laptop"),
        workload("messages", 'protocol = "udp"', kind="stream", goal='duration = "1 s"'),
        workload("datagrams", 'rate = "1 Mbit/s"', kind="udp", goal='duration = "1 s"'),
    )
    udp = ["messages", "datagrams"] if program == "openvpn" else []
    assert gateways.carried_workloads(Network(made), "bond") == ["fetch", "own", "behind_middle", *udp]


@pytest.mark.parametrize("program", ["xray", "openvpn"])
def test_a_tunnel_carries_only_what_is_beyond_its_exit(make: Make, program: str) -> None:
    """From web to other, packets pass the entry and not the exit: the firewall of a proxy takes them all the same."""
    made = make(
        gateway(program, entry="vps", exit_="home"),
        workload("between", from_="web", to="other"),
        settings=("workloads.fetch.from=web", "workloads.fetch.to=laptop"),
    )
    assert gateways.carried_workloads(Network(made), "bond") == (
        ["fetch"] if program == "openvpn" else ["fetch", "between"]
    )


# -- endpoints


def _endpoints(made: Scenario, node: str) -> list[tuple[str, tuple[str, ...]]]:
    transport = made.transports[node]
    return [(port.link, words) for port, words in endpoints_of(Network(made).context_of(node), transport)]


def test_endpoints_are_the_addresses_that_lead_to_the_other_side(make: Make) -> None:
    made = make(gateway("xray"))
    network = Network(made)
    assert _endpoints(made, "home") == [("dsl", ("subflow",))]
    assert _endpoints(made, "vps") == [("lte", ("signal",))]
    for node in ("home", "vps"):
        described = made.nodes[node].description(network.context_of(node))
        assert described["transport"]["protocol"] == "tcp", "its own programs"
        assert described["speaks_mptcp"] is True
        assert [endpoint["address"] for endpoint in described["endpoints"]]
    plan = plan_of(made)
    added = [
        (command.node, command.argv[4])
        for command in plan.setup
        if command.argv[:4] == ("ip", "mptcp", "endpoint", "add")
    ]
    assert added == [("home", "10.0.2.1"), ("vps", "10.0.3.2")]


def test_a_gateway_over_tcp_adds_no_endpoints(make: Make) -> None:
    made = make(gateway("xray", 'protocol = "tcp"'))
    assert _endpoints(made, "home") == _endpoints(made, "vps") == []
    assert "speaks_mptcp" not in made.nodes["home"].description(Network(made).context_of("home"))
    plan = plan_of(made)
    assert not any(command.argv[:2] == ("ip", "mptcp") for command in plan.setup)


def test_nodes_without_a_part_in_the_gateway_stay_as_they_are(make: Make) -> None:
    made, without = make(gateway("xray")), make()
    for node in ("laptop", "web", "middle"):
        context, before = Network(made).context_of(node), Network(without).context_of(node)
        assert made.nodes[node].description(context) == without.nodes[node].description(before)
        commands = [
            [command.argv for command in plan_of(each).setup if command.node == node] for each in (made, without)
        ]
        assert commands[0] == commands[1]


# -- outages


OUTAGES = 'outages = [{ side = "exit", at = "2 s", downtime = "1 s" }, { side = "entry", at = "4 s" }]'


@pytest.mark.parametrize("program", PROGRAMS)
def test_outages(make: Make, program: str) -> None:
    plan = plan_of(make(gateway(program, OUTAGES)))
    seen = [
        (event.at_ns / 10**9, event.kind, event.link, event.value, [c.node for c in event.commands])
        for event in plan.events
    ]
    assert seen == [
        (2, "gateway-down", "bond", "exit", ["vps"]),
        (3, "gateway-up", "bond", "exit", ["vps"]),
        (4, "gateway-down", "bond", "entry", ["home"]),
        (4, "gateway-up", "bond", "entry", ["home"]),
    ]
    kill, start, *_ = [event.commands[0].argv[2] for event in plan.events]
    place = "/tmp/mptcplab-gateway-bond.exit"
    assert kill == f"echo yes > {place}.down; read pid < {place}.pid; kill -KILL $pid"
    assert start == f"echo up > {place}.up"
    for side in ("exit", "entry"):
        line = line_of(program_of(plan, side))
        assert line.startswith(f"mkfifo /tmp/mptcplab-gateway-bond.{side}.up && ")
        assert "mkfifo" in program_of(plan, side).uses
        assert plan.events[0].every_ns == 0


def test_only_a_side_with_outages_is_supervised(make: Make) -> None:
    plan = plan_of(make(gateway("shadowsocks-libev", 'outages = [{ side = "exit", at = "2 s" }]')))
    assert "mkfifo" in line_of(program_of(plan, "exit"))
    assert "mkfifo" not in line_of(program_of(plan, "entry"))
    without = plan_of(make(gateway("shadowsocks-libev")))
    assert program_of(plan, "entry") == program_of(without, "entry")


# -- the tunnel


def _words(plan: Plan, node: str, *beginning: str) -> list[str]:
    cut = len(beginning)
    return [
        " ".join(command.argv[cut:])
        for command in plan.setup
        if command.node == node and command.argv[:cut] == beginning
    ]


def test_openvpn_routes_what_is_beyond_the_exit_into_the_tunnel(make: Make) -> None:
    plan = plan_of(make(gateway("openvpn", 'device = "vpn0"')))
    rules = [rule for rule in _words(plan, "home", "ip", "rule", "add") if "priority 1" not in rule]
    assert rules == [
        "to 10.0.4.0/24 table 50 priority 50",
        "to 10.0.5.0/24 table 50 priority 50",
        "to 10.0.6.0/24 table 50 priority 50",
        *(f"to {address} lookup main priority 49" for address in ("10.0.2.2", "10.0.3.2", "10.0.4.1", "10.0.5.1")),
    ]
    routes = [route for route in _words(plan, "home", "ip", "route", "add") if "vpn0" in route]
    assert routes == [f"10.0.{number}.0/24 via 10.255.0.1 dev vpn0 table 50" for number in (4, 5, 6)]
    assert _words(plan, "home", "ip", "address", "add", "10.255.0.2/24") == ["dev vpn0"]
    assert _words(plan, "vps", "ip", "address", "add", "10.255.0.1/24") == ["dev vpn0"]
    assert 'add rule inet tunnel-bond out oifname "vpn0" masquerade' in _rules(plan, "home", "nft")
    assert 'add rule inet tunnel-bond out iifname "vpn0" masquerade' in _rules(plan, "vps", "nft")


def test_openvpn_over_ipv6(make: Make) -> None:
    plan = plan_of(make(gateway("openvpn"), settings=(IPV6,)))
    rules = _words(plan, "home", "ip", "-6", "rule", "add")
    assert "to fd00:6d70:7463:4::/64 table 50 priority 50" in rules
    assert "to fd00:6d70:7463:2::2 lookup main priority 49" in rules
    assert _words(plan, "home", "ip", "address", "add", "fd00:6d70:7475::1000/64") == ["dev tun0 nodad"]
    assert "fd00:6d70:7463:4::/64 via fd00:6d70:7475::1 dev tun0 table 50" in _words(plan, "home", "ip", "route", "add")
    assert "--server-ipv6 fd00:6d70:7475::/64 --proto tcp6-server" in line_of(program_of(plan, "exit"))
    assert "--proto tcp6-client --remote fd00:6d70:7463:2::2 8388" in line_of(program_of(plan, "entry"))


def test_openvpn_programs_and_keys(make: Make) -> None:
    plan = plan_of(make(gateway("openvpn")))
    at_exit, at_entry = line_of(program_of(plan, "exit")), line_of(program_of(plan, "entry"))
    assert at_exit.startswith("mptcpize run openvpn --server 10.255.0.0 255.255.255.0 ")
    assert at_entry.startswith("mptcpize run openvpn --client --nobind --proto tcp4-client --remote 10.0.2.2 8388 ")
    for line, side, other in ((at_exit, "exit", "entry"), (at_entry, "entry", "exit")):
        place = "/tmp/mptcplab-gateway-bond"
        assert f"--ca {place}.{other}.crt --cert {place}.{side}.crt --key {place}.{side}.key" in line
        assert "--data-ciphers AES-256-GCM" in line
    (keys,) = [command for command in plan.setup if "openssl" in command.uses]
    assert keys.node == "vps"
    assert keys.argv[2].count("openssl req -x509") == 2
    over_tcp = plan_of(make(gateway("openvpn", 'protocol = "tcp"', 'cipher = "none"')))
    assert line_of(program_of(over_tcp, "exit")).startswith("openvpn --server ")
    assert "--data-ciphers none" in line_of(program_of(over_tcp, "entry"))


def test_two_tunnels_have_networks_tables_and_devices_of_their_own(make: Make) -> None:
    second = gateway("openvpn", 'device = "tun1"', "port = 8389", name="second", entry="vps", exit_="home")
    plan = plan_of(make(gateway("openvpn"), second, workload("up", from_="web", to="laptop")))
    assert "10.0.1.0/24 via 10.255.1.1 dev tun1 table 51" in _words(plan, "vps", "ip", "route", "add")
    assert "to 10.0.1.0/24 table 51 priority 51" in _words(plan, "vps", "ip", "rule", "add")


# -- the manifest, and files that extend others


def test_the_manifest_describes_what_readers_need(make: Make) -> None:
    made = make(gateway("shadowsocks-libev", OUTAGES), workload("own", from_="home", to="other"))
    (described,) = describe_gateways(Network(made))["gateways"]
    assert described == {
        "name": "bond",
        "program": "shadowsocks-libev",
        "entry": "home",
        "exit": "vps",
        "via": None,
        "protocol": "mptcp",
        "port": 8388,
        "outages": [
            {"side": "exit", "at": "2 s", "downtime": "1 s"},
            {"side": "entry", "at": "4 s", "downtime": "0 ns"},
        ],
        "mode": "redirect",
        "local_port": 1080,
        "firewall": "nft",
        "cipher": "aes-256-gcm",
        "server": "10.0.2.2",
        "listening_port": 1080,
        "local": {},
        "carried": ["fetch", "own"],
    }
    (tunnel,) = describe_gateways(Network(make(gateway("openvpn"))))["gateways"]
    assert tunnel["listening_port"] is None
    assert json.loads(json.dumps(tunnel)) == tunnel
    assert describe_gateways(Network(make())) == {}


# -- identity


def _facts(tmp_path: Path, *tables: str) -> dict[str, Any]:
    scenario(tmp_path, *tables)
    (run,) = load(tmp_path / "gateways.toml").runs
    plan = compile_plan(run.point.scenario, seed=1)
    return identify(
        run, replace(plan, programs=()), engine="virtual", kernel={}, tools={SAMPLER: Path(sys.executable)}
    ).facts


def test_only_runs_with_gateways_depend_on_their_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without, with_one = _facts(tmp_path), _facts(tmp_path, gateway("shadowsocks-libev"))
    assert "gateways" not in without["scenario"]
    assert set(with_one["scenario"]["gateways"]) == {"bond"}
    assert without["recorder"] == identity.code_digest(identity._RECORDER)
    assert without["recorder"] != with_one["recorder"]
    monkeypatch.setattr(identity, "_GATEWAY_RECORDER", ("gateway/words.py",))
    assert _facts(tmp_path) == without
    assert _facts(tmp_path, gateway("shadowsocks-libev"))["recorder"] != with_one["recorder"]


def test_an_unused_key_of_gateways_is_not_in_the_recorded_scenario(make: Make) -> None:
    assert "gateways" not in json.loads(make().model_dump_json(by_alias=True))
