# SPDX-License-Identifier: MIT
"""systemd-networkd itself makes the nodes from exported files, on bare nodes in the lab."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.lab.bench import MINUTE_NS, Bench, bare_plan
from tests.unit.export_scenario import configuration, full_scenario

from mptcplab.configuration import Route, Rule
from mptcplab.plan import links
from mptcplab.scenario.network import Network
from mptcplab.steps import Command, Program
from mptcplab_export import networkd
from mptcplab_export.model import Configuration

#: Without a /sys that can be written, networkd does not wait for udev, which the lab does not have.
_INSTALL = """
mount -t tmpfs none /etc/systemd/network
mkdir -p /run/systemd
mount -t tmpfs none /run/systemd
mount -t sysfs -o ro none /sys
mkdir -p /run/systemd/netif/links /run/systemd/netif/leases /run/systemd/netif/lldp
chown -R systemd-network:systemd-network /run/systemd/netif
"""
_CONFIGURE = """
cp $root/etc/systemd/network/* /etc/systemd/network
/lib/systemd/systemd-sysctl $root/etc/sysctl.d/*
/lib/systemd/systemd-networkd &
# Until duplicate address detection has found none, IPv6's addresses and routes are not usable.
sleep 6
"""
_STATE = """
echo '== addresses'; ip -o address show scope global
echo '== routes'; ip -4 route show table all; ip -6 route show table all
echo '== rules'; ip rule; ip -6 rule
echo '== endpoints'; ip mptcp endpoint show
echo '== limits'; ip mptcp limits show
echo '== packets'; nft list ruleset
echo '== mtu'; ip -o link show
"""
_STARTS = ("chown", "cp", "ip", "mkdir", "mount", "nft", "sh", "sleep", "sysctl", "unshare")


def _script(configuration: Configuration) -> Iterator[str]:
    """Yield what installs the files in a folder, as /etc of the lab cannot be written, and starts what they start."""
    root = f"/tmp/{configuration.node}"
    yield f"root={root}"
    yield _INSTALL
    units: list[str] = []
    for file in networkd.write(configuration):
        place = f"{root}/{file.path}"
        yield f"mkdir -p {place.rpartition('/')[0]}; printf %s {shlex.quote(file.text)} > {place}"
        if file.path.endswith("/mptcplab.service"):
            units = file.text.replace("/etc/", f"{root}/etc/").splitlines()
    yield _CONFIGURE
    yield from (line.removeprefix("ExecStart=") for line in units if line.startswith("ExecStart="))
    yield _STATE
    yield "echo '== settings'"
    yield from (f"sysctl {shlex.quote(name)}" for name, _ in configuration.settings)
    yield from (line.removeprefix("ExecStop=") for line in units if line.startswith("ExecStop="))
    yield "echo '== stopped'; ip mptcp endpoint show; ip mptcp limits show; nft list ruleset"
    yield "kill $!"


def _route(route: Route) -> str:
    via = f" via {route.gateway}" if route.gateway is not None else ""
    table = f" table {route.table}" if route.table is not None else ""
    source = f" src {route.source}" if route.source is not None else ""
    return f"{route.destination}{via} dev {route.device}{table}{source}"


def _rule(rule: Rule) -> str:
    incoming = f" iif {rule.incoming}" if rule.incoming is not None else ""
    return f"{rule.priority}: from {rule.source or 'all'}{incoming} lookup {rule.table}"


def _strip_attributes(lines: list[str]) -> list[str]:
    """Return what networkd has set, without what `ip` adds to it."""
    ours = [line for line in lines if "proto static" in line]
    return sorted(re.sub(r" proto static| scope link| metric 1024| pref medium", "", line).strip() for line in ours)


def _check(configuration: Configuration, text: str) -> None:
    parts = {name: body.splitlines() for part in text.split("== ")[1:] for name, _, body in [part.partition("\n")]}
    addresses = sorted(f"{line.split()[1]} {line.split()[3]}" for line in parts["addresses"])
    assert addresses == sorted(f"{interface.device} {interface.address}" for interface in configuration.interfaces)
    assert _strip_attributes(parts["routes"]) == sorted(map(_route, configuration.routes))
    assert _strip_attributes([line.replace("\t", " ") for line in parts["rules"]]) == sorted(
        map(_rule, configuration.rules)
    )
    ends = [line.split(" id ")[0] for line in parts["endpoints"]]
    assert sorted(ends) == sorted(" ".join(endpoint.name()) for endpoint in configuration.endpoints)
    if configuration.limits is not None:
        assert parts["limits"] == [f"add_addr_accepted {configuration.limits.add_addr_accepted} subflows 8 "]
    tables = [line.split()[2] for line in parts["packets"] if line.startswith("table ")]
    assert tables == [table.name for table in configuration.tables]
    for interface in configuration.interfaces:
        assert any(
            f" {interface.device}@" in line and f" mtu {interface.mtu or 1500} " in line for line in parts["mtu"]
        )
    values = [
        (name, " ".join(value.split())) for name, _, value in (line.partition(" = ") for line in parts["settings"])
    ]
    assert values == list(configuration.settings)
    assert parts["stopped"] == ["add_addr_accepted 0 subflows 2 "]


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_networkd_makes_the_nodes(bench: Bench, family: str) -> None:
    scenario = full_scenario(family)
    configurations = {node: configuration(node, family) for node in scenario.nodes}
    programs = [
        Program(
            node,
            node,
            "client",
            ("unshare", "-m", "sh", "-ec", "\n".join(_script(configuration_of_node))),
            0,
            MINUTE_NS,
            _STARTS,
        )
        for node, configuration_of_node in configurations.items()
    ]
    network = Network(scenario)
    wires = list(links.wire_commands(network))
    for port in network.ports.values():
        wires.append(Command(port.node, ("ip", "link", "set", "dev", port.link, "mtu", "1500")))
    output = bench.live(replace(bare_plan(*programs), nodes=tuple(scenario.nodes), setup=tuple(wires)))
    for node, configuration_of_node in configurations.items():
        print(node, output.text(node, "err"))
        _check(configuration_of_node, output.text(node))
