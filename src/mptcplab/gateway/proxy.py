# SPDX-License-Identifier: MIT
"""The common part of proxies: programs that end the client's connection at the entry and open another at the exit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from mptcplab.configuration import NftTable
from mptcplab.fields import Misnomers, Whole
from mptcplab.gateway.base import GatewayBase
from mptcplab.gateway.context import GatewayContext
from mptcplab.gateway.firewall import iptables_redirect, redirect_table
from mptcplab.gateway.outage import Side
from mptcplab.steps import Command

Mode = Literal["redirect", "local"]


class Proxy(GatewayBase):
    """A pair of proxies."""

    misnomers: ClassVar[Misnomers] = {
        "local_port": ("socks_port", "listen"),
        "firewall": ("rules", "nat"),
    }

    mode: Mode = Field(
        default="redirect",
        description="redirect: the entry's firewall hands all TCP connections to it; local: workloads on the entry "
        "that name it in `through` speak SOCKS5 to it",
    )
    local_port: Whole = Field(default=1080, ge=1, le=65535, description="port on which the entry listens")
    firewall: Literal["nft", "iptables"] = Field(default="nft", description="program that sets the rules of redirect")

    @property
    def catches_all(self) -> bool:
        """See the base class."""
        return self.mode == "redirect"

    @property
    def listening_port(self) -> int | None:
        """See the base class."""
        return self.local_port

    def tables(self, context: GatewayContext, side: Side) -> Iterator[NftTable]:
        """Yield the rules that redirect connections to the entry's program."""
        if side == "entry" and self.mode == "redirect" and self.firewall == "nft":
            yield redirect_table(context, self.local_port)

    def commands(self, context: GatewayContext) -> Iterator[Command]:
        """See the base class."""
        yield from super().commands(context)
        if self.mode == "redirect" and self.firewall == "iptables":
            yield from iptables_redirect(self.entry, context, self.local_port)

    @model_validator(mode="after")
    def _check_mode(self) -> Proxy:
        if self.mode == "local":
            self._refuse_idle("firewall", self.mode)
        return self


def host_port(address: str, port: int) -> str:
    """Return address and port as one word; IPv6 addresses are in brackets."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
