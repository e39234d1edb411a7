# SPDX-License-Identifier: MIT
"""The command lines and configuration files that gateways give to their programs."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from tests.unit.gateway_network import (
    LOCAL,
    PROXIES,
    Make,
    gateway,
    line_of,
    plan_of,
    program_of,
    scenario,
    settings_of,
)

from mptcplab.gateway.base import PASSWORD, GatewayBase
from mptcplab.gateway.registry import PROGRAMS
from mptcplab.scenario.extends import OF_EVERY_PROGRAM
from mptcplab.scenario.keys import fields_of
from mptcplab.scenario.load import load


def test_shadowsocks_libev(make: Make) -> None:
    plan = plan_of(make(gateway("shadowsocks-libev", 'cipher = "rc4-md5"', "port = 8389", "local_port = 1081")))
    shared = {"server_port": 8389, "password": PASSWORD, "method": "rc4-md5", "timeout": 300, "mode": "tcp_only"}
    at_exit, at_entry = program_of(plan, "exit"), program_of(plan, "entry")
    assert settings_of(at_exit) == {"server": "0.0.0.0", **shared}
    assert settings_of(at_entry) == {"server": "10.0.2.2", "local_address": "0.0.0.0", "local_port": 1081, **shared}
    assert line_of(at_exit).endswith("&& exec mptcpize run ss-server -c /tmp/mptcplab-gateway-bond.exit.json")
    assert line_of(at_entry).endswith("&& exec mptcpize run ss-redir -c /tmp/mptcplab-gateway-bond.entry.json")
    over_tcp = plan_of(make(gateway("shadowsocks-libev", 'protocol = "tcp"')))
    assert line_of(program_of(over_tcp, "exit")).endswith("&& exec ss-server -c /tmp/mptcplab-gateway-bond.exit.json")


@pytest.mark.parametrize(
    ("protocol", "family", "at_exit", "at_entry"),
    [
        ("mptcp", "ipv4", "2 -s ss://{}@0.0.0.0:8388", "3 -c ss://{}@10.0.2.2:8388 -redir 0.0.0.0:1080"),
        ("tcp", "ipv4", "0 -s ss://{}@0.0.0.0:8388", "0 -c ss://{}@10.0.2.2:8388 -redir 0.0.0.0:1080"),
        ("mptcp", "ipv6", "2 -s ss://{}@[::]:8388", "3 -c ss://{}@[fd00:6d70:7463:2::2]:8388 -redir6 [::]:1080"),
    ],
)
def test_go_shadowsocks2_asks_for_mptcp_only_on_the_inner_side(
    make: Make, protocol: str, family: str, at_exit: str, at_entry: str
) -> None:
    settings = (f"gateways.bond.protocol={protocol}", f"family={family}")
    plan = plan_of(make(gateway("go-shadowsocks2", 'cipher = "none"'), settings=settings))
    user = f"DUMMY:{PASSWORD}"
    for side, expected in (("exit", at_exit), ("entry", at_entry)):
        environment, program, *words = shlex.split(line_of(program_of(plan, side)).replace(" exec ", " "))
        mode, *options = expected.format(user).split(" ")
        assert (environment, program, words) == (f"GODEBUG=multipathtcp={mode}", "go-shadowsocks2", options)


def test_shadowsocks_rust(make: Make) -> None:
    plan = plan_of(make(gateway("shadowsocks-rust", 'cipher = "none"')))
    at_exit, at_entry = settings_of(program_of(plan, "exit")), settings_of(program_of(plan, "entry"))
    assert (at_exit["server"], at_exit["method"], at_exit["mptcp"], at_exit["mode"]) == (
        "0.0.0.0",
        "none",
        True,
        "tcp_only",
    )
    (listener,) = at_entry["locals"]
    assert (listener["protocol"], listener["tcp_redir"], listener["local_port"]) == ("redir", "redirect", 1080)
    assert (at_entry["server"], at_entry["server_port"], at_entry["mptcp"]) == ("10.0.2.2", 8388, True)
    over_tcp = plan_of(make(gateway("shadowsocks-rust", 'protocol = "tcp"')))
    assert [settings_of(program_of(over_tcp, side))["mptcp"] for side in ("exit", "entry")] == [False, False]


def test_xray_asks_for_mptcp_only_on_the_inner_side(make: Make) -> None:
    plan = plan_of(make(gateway("xray")))
    at_exit, at_entry = (settings_of(program_of(plan, side)) for side in ("exit", "entry"))
    (listens,), (frees,) = at_exit["inbounds"], at_exit["outbounds"]
    assert listens["streamSettings"]["sockopt"] == {"tcpMptcp": True}
    assert (listens["port"], listens["settings"]["method"]) == (8388, "aes-256-gcm")
    assert frees == {"protocol": "freedom"}
    (takes,), (sends,) = at_entry["inbounds"], at_entry["outbounds"]
    assert takes["streamSettings"]["sockopt"] == {"tproxy": "redirect"}
    assert takes["settings"]["followRedirect"]
    assert sends["streamSettings"]["sockopt"] == {"tcpMptcp": True}
    assert sends["settings"]["servers"][0]["address"] == "10.0.2.2"
    assert "GODEBUG=multipathtcp=0" in line_of(program_of(plan, "exit"))
    over_tcp = settings_of(program_of(plan_of(make(gateway("xray", 'protocol = "tcp"'))), "entry"))
    assert over_tcp["outbounds"][0]["streamSettings"]["sockopt"] == {"tcpMptcp": False}


@pytest.mark.parametrize(("family", "server"), [("ipv4", "10.0.4.2:5001"), ("ipv6", "[fd00:6d70:7463:4::2]:5001")])
def test_tunnels_name_the_server_of_their_workload(make: Make, family: str, server: str) -> None:
    settings = (*LOCAL, f"family={family}")
    libev = program_of(plan_of(make(gateway("shadowsocks-libev", 'mode = "tunnel"'), settings=settings)), "entry")
    assert settings_of(libev)["tunnel_address"] == server
    assert settings_of(libev)["local_address"] == "0.0.0.0", "clients use an address of 127.0.0.0/8"
    assert line_of(libev).endswith("&& exec mptcpize run ss-tunnel -c /tmp/mptcplab-gateway-bond.entry.json")
    go = program_of(plan_of(make(gateway("go-shadowsocks2", 'mode = "tunnel"'), settings=settings)), "entry")
    assert line_of(go).endswith(f" -tcptun '0.0.0.0:1080={server}'") or line_of(go).endswith(
        f" -tcptun 0.0.0.0:1080={server}"
    )


@pytest.mark.parametrize("program", PROXIES)
def test_every_cipher_is_in_both_configurations(make: Make, program: str) -> None:
    ciphers = PROGRAMS[program].model_fields["cipher"].annotation.__args__  # type: ignore[union-attr]
    lines = set()
    for cipher in ciphers:
        plan = plan_of(make(gateway(program, f'cipher = "{cipher}"')))
        lines.add(tuple(line_of(program_of(plan, side)) for side in ("exit", "entry")))
    assert len(lines) == len(ciphers) == 4
    assert len({line for pair in lines for line in pair}) == 8, "the cipher is named on both sides"


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_entry_connects_to_the_address_of_via(make: Make, program: str) -> None:
    for via, address in (("dsl", "10.0.2.2"), ("lte", "10.0.3.2")):
        plan = plan_of(make(gateway(program, f'via = "{via}"')))
        assert address in line_of(program_of(plan, "entry"))
        assert "10.0." not in line_of(program_of(plan, "exit")), "it listens at all addresses"


def test_another_program_in_an_extending_file_keeps_the_nodes(tmp_path: Path) -> None:
    lines = ('mode = "local"', 'cipher = "rc4-md5"', "local_port = 1085", 'protocol = "tcp"', "port = 8389")
    base = scenario(tmp_path, gateway("shadowsocks-libev", *lines), settings=LOCAL).gateways["bond"]
    assert (base.listening_port, base.catches_all) == (1085, False)
    (tmp_path / "gateways.toml").rename(tmp_path / "base.toml")
    file = tmp_path / "over.toml"
    file.write_text('extends = "base.toml"\n[gateways.bond]\nprogram = "openvpn"\n')
    over = load(file).points[0].scenario.gateways["bond"]
    assert (over.entry, over.exit, over.protocol, over.port) == ("home", "vps", "tcp", 8389)
    assert (over.catches_all, over.tunnel_device) == (True, "tun0")
    assert set(OF_EVERY_PROGRAM) == set(fields_of(GatewayBase))
