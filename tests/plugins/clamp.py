# SPDX-License-Identifier: MIT
"""A plugin with a kind of node, which forwards packets and clamps the MSS of new TCP connections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from pydantic import Field

from mptcplab.fields import LinkName, Time, Whole, value_error
from mptcplab.node.base import NodeBase
from mptcplab.node.context import NodeContext
from mptcplab.steps import Call, Command, Counter, Event, Program
from mptcplab.units import Duration

_CAP = "tcp flags syn tcp option maxseg size set"


class Clamp(NodeBase):
    """Forwards packets and clamps TCP's MSS, as tunnel endpoints do."""

    kind = "clamp"
    table = "clamps"
    forwards = True
    packages: ClassVar[Mapping[str, str]] = {"nft": "nftables", "cat": "coreutils"}
    example: ClassVar[Mapping[str, Any]] = {"mss": 1200, "out": ["link2"]}

    mss: Whole = Field(ge=88, le=65535, description="maximum segment size", examples=[1200])
    out: tuple[LinkName, ...] = Field(default=(), description="only connections that leave by these links")
    since: Time = Field(default=Duration(0), description="only connections that begin later than this")

    def named_links(self) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
        yield ("out",), self.out

    def check(self, context: NodeContext) -> None:
        if len(context.ports) < 2:
            raise value_error("has only one link, so it forwards nothing", "connect it to two nodes")

    def commands(self, context: NodeContext) -> Iterator[Command]:
        hook = "type filter hook forward priority mangle;"
        chain = f"add table inet clamp; add chain inet clamp out {{ {hook} }}"
        yield Command(context.name, ("nft", chain), features=("nft",))
        if not self.since:
            yield self._rule(context)

    def events(self, context: NodeContext) -> Iterator[Event]:
        if self.since:
            yield Event(int(self.since), "clamped", context.name, "both", str(self.mss), (self._rule(context),))

    def programs(self, context: NodeContext) -> Iterator[Program]:
        yield self.server(context, "monitor", Call(("nft", "monitor", "rules")))

    def counters(self, context: NodeContext) -> Iterator[Counter]:
        yield Counter(context.name, "nft.json", ("nft", "-j", "list", "ruleset"))
        yield Counter(context.name, "snmp.txt", ("cat", "/proc/net/snmp"))

    def _rule(self, context: NodeContext) -> Command:
        names = ", ".join(f'"{link}"' for link in self.out)
        out = f"oifname {{ {names} }} " if names else ""
        rule = f"add rule inet clamp out {out}{_CAP} {self.mss} counter"
        return Command(context.name, ("nft", rule), features=("nft",))

    @classmethod
    def caption(cls, described: Mapping[str, Any]) -> str:
        return f"segments of at most {described['mss']} B"

    @classmethod
    def outline(cls, left: float, top: float, width: float, height: float) -> str:
        right, bottom, middle = left + width, top + height, top + height / 2
        sides = f"M{left} {middle} L{left + 9} {top} H{right - 9} L{right} {middle} V{bottom} H{left} Z"
        return f'<path d="{sides}"/>'
