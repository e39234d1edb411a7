# SPDX-License-Identifier: MIT
"""Routers that translate addresses, and routers that touch what they forward, as ``nft`` rules.

nftables does all of it in the kernel, for both families and without a program of ours in the way of packets: it can
overwrite a TCP option by NOPs, look at the subtype of MPTCP's, and change payload so that TCP's checksum stays right.
A packet can bear three MPTCP options at most, and only the first is looked at by subtype: those that can be named in
a scenario never follow another one in Linux.
"""

from __future__ import annotations

from collections.abc import Iterator

from mptcplab.scenario.middlebox import Middlebox
from mptcplab.scenario.network import Network
from mptcplab.steps import Command

_SUBTYPES = {"mp_capable": 0, "mp_join": 1, "dss": 2, "add_addr": 3}
_MOST_OPTIONS = 3
_ALL = 10**9
#: Behind kind, length, subtype and flags: 32 bits from the 32nd on of the first option of kind 30.
_MANGLE = "tcp option @30,32,32 set 0x4d504c41"
#: "MPLA" in ASCII: a text that would have to be there by chance to do no damage.
_DAMAGE = "@ih,0,32 set 0x4d504c41"


def middlebox_commands(network: Network, node: str) -> Iterator[Command]:
    """NAT and middlebox of a router; nothing for one that only forwards."""
    router = network.scenario.routers.get(node)
    if router is None:
        return
    if router.nat:
        yield _table(node, "nat", "type nat hook postrouting priority srcnat;", [f"{_out(router.nat)}masquerade"])
    rules = list(_rules(router.middlebox))
    if rules:
        yield _table(node, "middlebox", "type filter hook forward priority mangle;", rules)


def _table(node: str, name: str, hook: str, rules: list[str]) -> Command:
    lines = [f"add table inet {name}", f"add chain inet {name} out {{ {hook} }}"]
    lines += [f"add rule inet {name} out {rule}" for rule in rules]
    return Command(node, ("nft", "; ".join(lines)), features=("nft",))


def _out(links: tuple[str, ...]) -> str:
    names = ", ".join(f'"{link}"' for link in links)
    return f"oifname {{ {names} }} " if links else ""


def _rules(box: Middlebox) -> Iterator[str]:
    out = _out(box.out)
    for option in box.drop:
        yield f"{out}{_with(option)} counter drop"
    for option in box.strip:
        # Each of these overwrites one option.
        times = _MOST_OPTIONS if option == "all" else 1
        yield f"{out}{_with(option)} counter {' '.join(['reset tcp option mptcp'] * times)}"
    for option in box.mangle:
        yield f"{out}{_with(option)} {_MANGLE} counter"
    if box.damage:
        share = f"numgen random mod {_ALL} < {int(box.damage)} " if box.damage < _ALL else ""
        yield f"{out}meta l4proto tcp {share}{_DAMAGE} counter"


def _with(option: str) -> str:
    return "tcp option mptcp exists" if option == "all" else f"tcp option mptcp subtype {_SUBTYPES[option]}"
