# SPDX-License-Identifier: MIT
"""A router: forwards packets, may translate addresses, be a middlebox, and have sockets of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from pydantic import Field, model_validator

from mptcplab.configuration import NftChain, NftTable, masquerade_table
from mptcplab.fields import LinkName, Misnomers, conflict, value_error
from mptcplab.node.base import NodeBase
from mptcplab.node.context import NodeContext
from mptcplab.node.cpu import cpu_words
from mptcplab.node.middlebox import Middlebox, middlebox_words
from mptcplab.node.transport import SYSCTL_EXAMPLE, Sysctl, Transport, transport_words
from mptcplab.steps import Counter


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
