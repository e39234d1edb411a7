# SPDX-License-Identifier: MIT
"""The files for OpenWrt are UCI, by a parser that was written from its documentation. No OpenWrt has read them."""

from __future__ import annotations

import subprocess

import pytest
from tests.unit.export_scenario import FAMILIES, NODES, TABLES, files
from tests.unit.uci_syntax import Section, UciError, check, parse

from mptcplab.errors import InputError
from mptcplab.scenario.schema import Scenario
from mptcplab_export.collect import ExportMachine, collect
from mptcplab_export.registry import FORMATS


def _sections(node: str, family: str, package: str, **devices: str) -> list[Section]:
    sections = parse(files("uci", node, family, **devices)[f"etc/config/{package}"])
    check(package, sections)
    return sections


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("node", NODES)
def test_files_are_uci_and_refer_to_what_is_there(node: str, family: str) -> None:
    network, firewall = _sections(node, family, "network"), _sections(node, family, "firewall")
    interfaces = {section.name for section in network if section.kind == "interface"}
    for section in network:
        if section.kind.startswith("route"):
            assert section.options["interface"] in interfaces
        if section.kind.startswith("rule"):
            assert section.options.get("in", "loopback") in interfaces
            assert "src" in section.options or "in" in section.options
    zones = {section.options["name"]: section.lists["network"] for section in firewall if section.kind == "zone"}
    assert sorted(name for members in zones.values() for name in members) == sorted(interfaces - {"loopback"})
    for section in firewall:
        if section.kind == "forwarding":
            assert {section.options["src"], section.options["dest"]} <= set(zones)
        if section.kind == "include":
            assert section.options["path"].removeprefix("/") in files("uci", node, family)


def test_values() -> None:
    network = {section.name: section for section in _sections("client", "ipv4", "network", a__1="eth0.7")}
    assert network["a_1"].options == {
        "device": "eth0.7",
        "proto": "static",
        "ipaddr": "10.0.1.1",
        "netmask": "255.255.255.0",
    }
    assert network["a_1_device"].options == {"name": "eth0.7", "mtu": "1400"}
    assert network["mptcplab_rule1"].options == {"src": "10.0.1.1/32", "lookup": "100", "priority": "100"}
    route = next(section for section in network.values() if section.options.get("table") == "100")
    assert route.options == {"interface": "a_1", "target": "10.0.1.0/24", "table": "100"}


def test_masquerading_is_a_zone_and_other_rules_are_included() -> None:
    firewall = {section.name: section for section in _sections("r1", "ipv4", "firewall")}
    assert firewall["mptcplab_outside"].options["masq"] == "1"
    assert firewall["mptcplab_outside"].lists["network"] == ["core"]
    assert "masq" not in firewall["mptcplab_inside"].options
    assert firewall["mptcplab_middlebox"].options["position"] == "ruleset-post"
    assert {section.options["src"] for section in firewall.values() if section.kind == "forwarding"} == {
        "inside",
        "outside",
    }
    six = {section.name: section for section in _sections("r1", "ipv6", "firewall")}
    assert six["mptcplab_outside"].options["masq6"] == "1"


@pytest.mark.parametrize("node", ["client", "phone", "r2", "r3"])
def test_init_scripts_are_scripts(node: str) -> None:
    for path in ("etc/init.d/mptcplab", "etc/mptcplab/endpoints"):
        text = files("uci", node)[path]
        checked = subprocess.run(["sh", "-n"], input=text, text=True, capture_output=True, check=False)
        assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("link", ["b-1", "loopback"])
def test_names_that_uci_does_not_have_are_refused(link: str) -> None:
    links = dict(TABLES["links"])
    links[link] = links.pop("a-1")
    hosts = {**TABLES["hosts"], "client": {}}
    scenario = Scenario.model_validate({**TABLES, "hosts": hosts, "links": links, "events": []})
    with pytest.raises(InputError, match="is the name of another interface") as caught:
        FORMATS["uci"].write(collect(scenario, "client", ExportMachine({})))
    assert caught.value.hint is not None


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("config a b\n option c d", {"c": "d"}),
        ("config a 'b'\n\toption 'c' \"d e\" # no", {"c": "d e"}),
        ("config a b\noption c 'it'\\''s'", {"c": "it's"}),
        ('config a b\noption c "a \\"b\\" c"', {"c": 'a "b" c'}),
        ("# first\n\nconfig a b\noption c 'x # y'", {"c": "x # y"}),
    ],
)
def test_the_parser_reads(text: str, options: dict[str, str]) -> None:
    assert parse(text)[0].options == options


@pytest.mark.parametrize(
    "text",
    [
        "option a b",
        "config",
        "config a b-c",
        "config a b\noption c-d e",
        "config a b\noption c",
        "config a b\noption c d e",
        "config a b\noption c 'd",
        "config a b\nconfig c b",
        "config a b\noption c d\noption c e",
        "config a b\nset c d",
    ],
)
def test_the_parser_refuses(text: str) -> None:
    with pytest.raises(UciError):
        parse(text)


def test_unknown_options_are_refused() -> None:
    with pytest.raises(UciError, match="multipath"):
        check("network", parse("config interface a\noption device a\noption proto static\noption multipath on"))
    with pytest.raises(UciError, match="lacks"):
        check("network", parse("config route a\noption target 10.0.0.0/8"))
