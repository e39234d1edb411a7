# SPDX-License-Identifier: MIT
"""A router: forwards packets, may translate addresses, and may be a middlebox."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from pydantic import Field, model_validator

from mptcplab.fields import LinkName, invalid
from mptcplab.node.base import NodeBase
from mptcplab.node.context import Context
from mptcplab.node.cpu import cpu_words
from mptcplab.node.middlebox import Middlebox, going_out, middlebox_words, nft_table
from mptcplab.node.transport import SYSCTL_EXAMPLE, Sysctl
from mptcplab.steps import Command, Counter


class Router(NodeBase):
    """Forwards packets between its links, and shapes its own egress."""

    kind = "router"
    table = "routers"
    forwards = True
    is_recorded_empty = True
    packages: ClassVar[Mapping[str, str]] = {"nft": "nftables"}
    example: ClassVar[Mapping[str, Any]] = {"nat": ["link2"], "middlebox": {"strip": ["mp_join"]}}
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

    @model_validator(mode="after")
    def _check_nat(self) -> Router:
        if len(set(self.nat)) != len(self.nat):
            raise invalid("names a link twice", "name each link once", "nat")
        return self

    def settings(self, context: Context) -> Iterator[str]:
        """See the base class."""
        yield from super().settings(context)
        yield from (f"{key}={value}" for key, value in self.sysctl.items())

    def commands(self, context: Context) -> Iterator[Command]:
        """Yield the rules of NAT and middlebox; none for a plain router."""
        if self.nat:
            rules = [f"{going_out(self.nat)}masquerade"]
            yield nft_table(context.name, "nat", "type nat hook postrouting priority srcnat;", rules)
        rules = list(self.middlebox.rules())
        if rules:
            yield nft_table(context.name, "middlebox", "type filter hook forward priority mangle;", rules)

    def counters(self, context: Context) -> Iterator[Counter]:
        """See the base class."""
        yield from super().counters(context)
        if any(self.commands(context)):
            yield Counter(context.name, "nft.json", ("nft", "-j", "list", "ruleset"))

    def description(self, context: Context) -> dict[str, Any]:
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
        return "; ".join((*nat, *middlebox_words(described.get("middlebox") or {}), *cpu_words(described)))
