# SPDX-License-Identifier: MIT
"""What a router does to packets beside forwarding them: MPTCP options removed or refused, payload changed.

It does so by ``nft`` rules. nftables does all of it in the kernel, for both families and without a program of ours in
the way of packets: it can overwrite a TCP option by NOPs, look at the subtype of MPTCP's, and change payload so that
TCP's checksum stays right. A packet can bear three MPTCP options at most, and only the first is looked at by subtype:
those that can be named in a scenario never follow another one in Linux.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from mptcplab.fields import LinkName, Part, conflict, idle, invalid
from mptcplab.steps import Command
from mptcplab.units import Probability

_SUBTYPES = {"mp_capable": 0, "mp_join": 1, "dss": 2, "add_addr": 3}
_MAX_OPTIONS = 3
_ALL = 10**9
#: Behind kind, length, subtype and flags: 32 bits from the 32nd on of the first option of kind 30.
_MANGLE = "tcp option @30,32,32 set 0x4d504c41"
#: "MPLA" in ASCII: a text that would have to be there by chance to do no damage.
_DAMAGE = "@ih,0,32 set 0x4d504c41"
MptcpOption = Literal["all", "mp_capable", "mp_join", "dss", "add_addr"]


def _each_once(options: tuple[MptcpOption, ...]) -> tuple[MptcpOption, ...]:
    if len(set(options)) != len(options):
        raise invalid("names an option twice", "name every option once")
    if "all" in options and len(options) > 1:
        raise conflict("names options beside all of them", 'use ["all"] alone')
    return options


Options = Annotated[tuple[MptcpOption, ...], AfterValidator(_each_once)]


class Middlebox(Part):
    """A box on the way that does not know MPTCP, or does not want it. It acts on packets that the router forwards."""

    strip: Options = Field(
        default=(), description="MPTCP options that are overwritten by NOPs", examples=[["mp_join"], ["all"]]
    )
    drop: Options = Field(
        default=(), description="packets with these MPTCP options vanish", examples=[["mp_capable"], ["all"]]
    )
    mangle: Options = Field(
        default=(),
        description="four bytes of these MPTCP options are overwritten: of a key, a token, an address or a data ack",
        examples=[["mp_join"]],
    )
    damage: Probability = Field(
        default=Probability(0), description="the payload's first four bytes are replaced, and TCP's checksum put right"
    )
    out: tuple[LinkName, ...] = Field(
        default=(), description="only packets that leave by these links; default all", examples=[["link1"]]
    )

    @model_validator(mode="after")
    def _sensible(self) -> Middlebox:
        self._check_once()
        if self.out and not (self.strip or self.drop or self.mangle or self.damage):
            raise idle("does nothing by itself", 'add what to do, like strip = ["mp_join"]', "out")
        if len(set(self.out)) != len(self.out):
            raise invalid("names a link twice", "name every link once", "out")
        return self

    def _check_once(self) -> None:
        """No option is named by two verbs: it would be gone before the second."""
        verbs = ("drop", "strip", "mangle")
        for index, verb in enumerate(verbs):
            for earlier in verbs[:index]:
                one, other = set(getattr(self, verb)), set(getattr(self, earlier))
                if one & other or (one and other and "all" in one | other):
                    raise conflict(f"names what {earlier} does away with", f"remove it there or in {verb}", verb)

    def is_active(self) -> Iterator[tuple[str, str]]:
        """What it does to packets with which option, in the order of its rules, each of which counts."""
        for verb in ("drop", "strip", "mangle"):
            yield from ((verb, option) for option in getattr(self, verb))
        if self.damage:
            yield "damage", "payload"

    def rules(self) -> Iterator[str]:
        """What it does, in the words of ``nft``."""
        out = going_out(self.out)
        for option in self.drop:
            yield f"{out}{_with(option)} counter drop"
        for option in self.strip:
            # Each of these overwrites one option.
            times = _MAX_OPTIONS if option == "all" else 1
            yield f"{out}{_with(option)} counter {' '.join(['reset tcp option mptcp'] * times)}"
        for option in self.mangle:
            yield f"{out}{_with(option)} {_MANGLE} counter"
        if self.damage:
            share = f"numgen random mod {_ALL} < {int(self.damage)} " if self.damage < _ALL else ""
            yield f"{out}meta l4proto tcp {share}{_DAMAGE} counter"


def _with(option: str) -> str:
    return "tcp option mptcp exists" if option == "all" else f"tcp option mptcp subtype {_SUBTYPES[option]}"


def going_out(links: tuple[str, ...]) -> str:
    """Match packets that leave by one of ``links``; by any if there are none."""
    names = ", ".join(f'"{link}"' for link in links)
    return f"oifname {{ {names} }} " if links else ""


def nft_table(node: str, name: str, hook: str, rules: list[str]) -> Command:
    """Add a table with one chain, which bears the ``rules`` at its ``hook``."""
    lines = [f"add table inet {name}", f"add chain inet {name} out {{ {hook} }}"]
    lines += [f"add rule inet {name} out {rule}" for rule in rules]
    return Command(node, ("nft", "; ".join(lines)), features=("nft",))


def middlebox_words(described: Mapping[str, Any]) -> Iterator[str]:
    """What the middlebox of a resolved scenario does, in a few words each."""
    for key, verb in (("strip", "strips"), ("drop", "drops"), ("mangle", "mangles")):
        if described.get(key):
            yield f"{verb} {', '.join(described[key])}"
    if described.get("damage") not in (None, "0 ppb"):
        yield f"damages {described['damage']}"
