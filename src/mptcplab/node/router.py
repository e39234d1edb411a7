# SPDX-License-Identifier: MIT
"""A router: forwards packets, may translate addresses, be a middlebox, and have sockets of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from mptcplab.configuration import NftChain, NftTable, masquerade_table, match_outgoing
from mptcplab.fields import LinkName, Misnomers, Part, conflict, idle, value_error
from mptcplab.node.base import NodeBase
from mptcplab.node.context import NodeContext
from mptcplab.node.cpu import cpu_words
from mptcplab.node.transport import SYSCTL_EXAMPLE, Sysctl, Transport, transport_words
from mptcplab.steps import Counter
from mptcplab.units import Probability

# The middlebox of a router: strips, drops or alters MPTCP options, and alters payload.
#
# It consists of ``nft`` rules. nftables does all of this in the kernel, for both families, without a program of ours
# in their path: it can overwrite a TCP option by NOPs, match the subtype of MPTCP options, and alter payload while
# TCP's checksum stays correct. A packet can have at most three MPTCP options, and a match by subtype looks only at the
# first: in Linux, the options that a scenario can name never follow another one.

_SUBTYPES = {"mp_capable": 0, "mp_join": 1, "dss": 2, "add_addr": 3}
_MAX_OPTIONS = 3
_ALL = 10**9
#: After kind, length, subtype and flags: 32 bits at offset 32 of the first option of kind 30.
_MANGLE = "tcp option @30,32,32 set 0x4d504c41"
#: "MPLA" in ASCII: without effect only on payload that happens to be the same.
_DAMAGE = "@ih,0,32 set 0x4d504c41"
MptcpOption = Literal["all", "mp_capable", "mp_join", "dss", "add_addr"]


def _check_distinct(options: tuple[MptcpOption, ...]) -> tuple[MptcpOption, ...]:
    if len(set(options)) != len(options):
        raise value_error("names an option twice", "name each option once")
    if "all" in options and len(options) > 1:
        raise conflict('names other options beside "all"', 'use ["all"] alone')
    return options


Options = Annotated[tuple[MptcpOption, ...], AfterValidator(_check_distinct)]


class Middlebox(Part):
    """A middlebox that strips, drops or alters MPTCP options of packets that the router forwards."""

    misnomers: ClassVar[Misnomers] = {
        "strip": ("remove", "clear"),
        "drop": ("block", "discard"),
        "mangle": ("modify", "rewrite", "change"),
        "damage": ("corrupt", "payload"),
        "out": ("links", "link", "on", "interface", "direction"),
    }

    strip: Options = Field(
        default=(), description="MPTCP options to overwrite by NOPs", examples=[["mp_join"], ["all"]]
    )
    drop: Options = Field(
        default=(), description="drop packets with these MPTCP options", examples=[["mp_capable"], ["all"]]
    )
    mangle: Options = Field(
        default=(),
        description="MPTCP options to overwrite four bytes of: of a key, a token, an address or a data ACK",
        examples=[["mp_join"]],
    )
    damage: Probability = Field(
        default=Probability(0),
        description="probability that the payload's first four bytes are replaced and TCP's checksum is corrected",
    )
    out: tuple[LinkName, ...] = Field(
        default=(), description="only packets that leave by these links; default: all links", examples=[["link1"]]
    )

    @model_validator(mode="after")
    def _check(self) -> Middlebox:
        self._check_once()
        if self.out and not (self.strip or self.drop or self.mangle or self.damage):
            raise idle("does nothing by itself", 'add an action, like strip = ["mp_join"]', "out")
        if len(set(self.out)) != len(self.out):
            raise value_error("names a link twice", "name each link once", "out")
        return self

    def _check_once(self) -> None:
        """Refuse an option that two verbs name: the first would remove it."""
        verbs = ("drop", "strip", "mangle")
        for index, verb in enumerate(verbs):
            for earlier in verbs[:index]:
                items, other = set(getattr(self, verb)), set(getattr(self, earlier))
                if items & other or (items and other and "all" in items | other):
                    hint = f"name each option in {earlier} or in {verb} only"
                    raise conflict(f"names an option of {earlier}, which applies first", hint, verb)

    def actions(self) -> Iterator[tuple[str, str]]:
        """Yield its actions and their options, in the order of its rules, each of which has a counter."""
        for verb in ("drop", "strip", "mangle"):
            yield from ((verb, option) for option in getattr(self, verb))
        if self.damage:
            yield "damage", "payload"

    def rules(self, devices: Mapping[str, str]) -> Iterator[str]:
        """Yield its rules for ``nft``; ``devices`` are the router's interfaces by link."""
        out = match_outgoing(tuple(devices[link] for link in self.out))
        for option in self.drop:
            yield f"{out}{_match_option(option)} counter drop"
        for option in self.strip:
            # Each statement overwrites one option.
            times = _MAX_OPTIONS if option == "all" else 1
            yield f"{out}{_match_option(option)} counter {' '.join(['reset tcp option mptcp'] * times)}"
        for option in self.mangle:
            yield f"{out}{_match_option(option)} {_MANGLE} counter"
        if self.damage:
            share = f"numgen random mod {_ALL} < {int(self.damage)} " if self.damage < _ALL else ""
            yield f"{out}meta l4proto tcp {share}{_DAMAGE} counter"


def _match_option(option: str) -> str:
    return "tcp option mptcp exists" if option == "all" else f"tcp option mptcp subtype {_SUBTYPES[option]}"


def middlebox_words(described: Mapping[str, Any]) -> Iterator[str]:
    """Yield short descriptions of the actions of a middlebox in a resolved scenario."""
    for key, verb in (("strip", "strips"), ("drop", "drops"), ("mangle", "mangles")):
        if described.get(key):
            yield f"{verb} {', '.join(described[key])}"
    if described.get("damage") not in (None, "0 ppb"):
        yield f"damages {described['damage']}"


class Router(NodeBase):
    """Forwards packets between its links.

    A router without a ``transport`` has no sockets of its own, and shapes its own egress.
    """

    misnomers: ClassVar[Misnomers] = {
        "sysctl": ("sysctls", "settings"),
        "nat": ("napt", "snat", "masquerade"),
        "middlebox": ("box", "firewall"),
    }

    kind = "router"
    table = "routers"
    table_misnomers = ("router", "switches", "switch", "bridges", "middleboxes")
    forwards = True
    is_recorded_empty = True
    shares_transport = True
    transport_is_optional = True
    packages: ClassVar[Mapping[str, str]] = {"nft": "nftables"}
    example: ClassVar[Mapping[str, Any]] = {"nat": ["link2"], "middlebox": {"strip": ["mp_join"]}, "transport": {}}
    corner = 20

    sysctl: Sysctl = Field(default_factory=dict, description="any net.* setting of the router", examples=SYSCTL_EXAMPLE)
    nat: tuple[LinkName, ...] = Field(
        default=(),
        description="links with NAT: packets that leave by one get the router's address on it",
        examples=[["link1"]],
    )
    middlebox: Middlebox = Field(
        default_factory=Middlebox,
        description="actions on packets that it forwards",
        examples=[{"strip": ["mp_join"]}],
    )
    transport: Transport | None = Field(
        default=None,
        description="sockets of its own, with the transport of a host; without this table, it has none",
        examples=[{"protocol": "mptcp"}],
    )

    @property
    def own_transport(self) -> Transport | None:
        """See the base class."""
        return self.transport

    @model_validator(mode="after")
    def _check_sysctl(self) -> Router:
        for name in self.sysctl:
            key = self.transport.key_of(name) if self.transport is not None else None
            if key is not None:
                raise conflict(f"is also set by `transport.{key}`", "remove one of the two", "sysctl", name)
        return self

    @model_validator(mode="after")
    def _check_nat(self) -> Router:
        if len(set(self.nat)) != len(self.nat):
            raise value_error("names a link twice", "name each link once", "nat")
        return self

    def settings(self, context: NodeContext) -> Iterator[str]:
        """See the base class."""
        yield from super().settings(context)
        yield from (f"{key}={value}" for key, value in self.sysctl.items())

    def tables(self, context: NodeContext) -> Iterator[NftTable]:
        """Yield the rules of NAT and middlebox; none for a plain router."""
        devices = {port.link: port.device for port in context.ports}
        if self.nat:
            yield masquerade_table("nat", tuple(devices[link] for link in self.nat))
        rules = tuple(self.middlebox.rules(devices))
        if rules:
            yield NftTable("middlebox", (NftChain("out", "type filter hook forward priority mangle;", rules),))

    def counters(self, context: NodeContext) -> Iterator[Counter]:
        """See the base class."""
        yield from super().counters(context)
        if any(self.tables(context)):
            yield Counter(context.name, "nft.json", ("nft", "-j", "list", "ruleset"))

    def description(self, context: NodeContext) -> dict[str, Any]:
        """Return the description with the actions of its middlebox."""
        return {**super().description(context), "middlebox": list(self.middlebox.actions())}

    def named_links(self) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
        """See the base class."""
        yield ("nat",), self.nat
        yield ("middlebox", "out"), self.middlebox.out

    @classmethod
    def caption(cls, described: Mapping[str, Any]) -> str:
        """See the base class."""
        nat = [f"NAT at {', '.join(described['nat'])}"] if described.get("nat") else []
        speaks = [f"speaks {transport_words(described['transport'])}"] if described.get("transport") else []
        return "; ".join((*nat, *middlebox_words(described.get("middlebox") or {}), *speaks, *cpu_words(described)))
