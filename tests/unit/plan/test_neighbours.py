# SPDX-License-Identifier: MIT
"""Neighbours that are known from the beginning: entries at both ends of every wired link, and addresses for them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from mptcplab.errors import Mistake
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.model import Plan
from mptcplab.plan.script import script
from mptcplab.scenario.document import ScenarioError
from mptcplab.scenario.load import load

ROOT = Path(__file__).resolve().parents[3]
WIFI = ROOT / "examples/wifi/two-access-points.toml"
KNOWN = "neighbours=known"


def _plan(file: Path, *overrides: str) -> Plan:
    return compile_plan(load(file, overrides=overrides, repeats=1).points[0].scenario, seed=1)


def _macs(plan: Plan) -> dict[tuple[str, str], str]:
    """Return the link-layer address of each node's end of each cable."""
    addresses: dict[tuple[str, str], str] = {}
    for command in plan.setup:
        if "veth" in command.argv and "address" in command.argv:
            pairs = list(pairwise(command.argv))
            nodes, macs = ([value for key, value in pairs if key == word] for word in ("netns", "address"))
            addresses |= {(node, dict(pairs)["name"]): mac for node, mac in zip(nodes, macs, strict=True)}
    return addresses


def _entries(plan: Plan) -> dict[tuple[str | None, str], tuple[str, str]]:
    """Return address and link-layer address of the neighbour at each node and interface."""
    entries = {}
    for command in plan.setup:
        if command.argv[:3] == ("ip", "neighbour", "add"):
            words = dict(pairwise(command.argv))
            assert words["nud"] == "reachable"
            entries[command.node, words["dev"]] = (command.argv[3], words["lladdr"])
    return entries


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_each_end_has_the_address_of_the_other(family: str) -> None:
    plan = _plan(ROOT / "examples/two-paths.toml", KNOWN, f"family={family}")
    macs, entries = _macs(plan), _entries(plan)
    assert len(set(macs.values())) == len(macs) == 8, "four links with two ends each, all different"
    addresses = {
        (command.node, dict(pairwise(command.argv))["dev"]): command.argv[3].partition("/")[0]
        for command in plan.setup
        if command.argv[:3] == ("ip", "address", "add")
    }
    assert set(entries) == set(macs)
    for (node, link), entry in entries.items():
        (peer,) = (other for other, same in macs if same == link and other != node)
        assert entry == (addresses[peer, link], macs[peer, link])


def test_entries_come_after_all_links_are_up() -> None:
    """An interface without a carrier forgets what it had, and it has none until the other end is up."""
    words = [command.argv[1] for command in _plan(ROOT / "examples/two-paths.toml", KNOWN).setup]
    assert "neighbour" not in words[:-8]
    assert words[-8:] == ["neighbour"] * 8


def test_by_default_addresses_are_resolved() -> None:
    plan = _plan(ROOT / "examples/two-paths.toml")
    assert not _macs(plan)
    assert not _entries(plan)
    assert plan == _plan(ROOT / "examples/two-paths.toml", "neighbours=resolve")


def test_only_the_choice_is_part_of_a_recorded_scenario() -> None:
    """Recordings of the default keep their identity; see also test_existing_plans.py."""
    for override, expected in (("neighbours=resolve", None), (KNOWN, "known")):
        scenario = load(ROOT / "examples/two-paths.toml", overrides=[override]).points[0].scenario
        for is_short in (True, False):
            assert scenario.model_dump(mode="json", exclude_defaults=is_short).get("neighbours") == expected


def test_radio_links_resolve() -> None:
    plan = _plan(WIFI, KNOWN)
    wired = {link for _, link in _macs(plan)}
    assert wired
    assert {device for _, device in _entries(plan)} == wired


def test_without_a_wired_link_it_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "radio.toml"
    file.write_text(
        'title = "t"\nneighbours = "known"\n'
        "[hosts.a]\nposition = [1, 0]\n[hosts.b]\nposition = [2, 0]\n"
        "[access_points.ap]\nposition = [0, 0]\nmode = '802.11g'\n"
        "[links.one]\nbetween = ['a', 'ap']\nradio = {}\n[links.two]\nbetween = ['b', 'ap']\nradio = {}\n"
        "[workloads.w]\nkind = 'flow'\nfrom = 'a'\nto = 'b'\nduration = '1 s'\n"
    )
    with pytest.raises(ScenarioError, match="does nothing without a wired link") as caught:
        load(file)
    assert caught.value.kind is Mistake.IDLE


def test_a_script_has_them() -> None:
    file = ROOT / "examples/two-paths.toml"
    assert "ip netns exec client ip neighbour add 10.0." in script(_plan(file, KNOWN), title="t")
