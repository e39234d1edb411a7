# SPDX-License-Identifier: MIT
"""The common part of proxies: programs that end the client's connection at the entry and open another at the exit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from mptcplab.configuration import NftTable
from mptcplab.fields import Boolean, Misnomers, Whole
from mptcplab.gateway.base import GatewayBase
from mptcplab.gateway.context import GatewayContext
from mptcplab.gateway.firewall import iptables_redirect, redirect_table
from mptcplab.gateway.outage import Side
from mptcplab.steps import Command

Mode = Literal["redirect", "local", "tunnel"]


class Proxy(GatewayBase):
    """A pair of proxies."""

    misnomers: ClassVar[Misnomers] = {
        "local_port": ("socks_port", "listen"),
        "firewall": ("rules", "nat"),
        "pass_through": ("bypass", "passthrough", "pass_by", "mptcp_servers"),
    }

    mode: Literal["redirect", "local"] = Field(
        default="redirect",
        description="redirect: the entry's firewall hands all TCP connections to it; local: workloads on the entry "
        "that name it in `through` speak SOCKS5 to it",
    )
    local_port: Whole = Field(default=1080, ge=1, le=65535, description="port on which the entry listens")
    firewall: Literal["nft", "iptables"] = Field(default="nft", description="program that sets the rules of redirect")
    pass_through: Boolean = Field(
        default=False,
        description="MPTCP connections to servers that speak MPTCP pass the entry as they are, without the proxy",
    )

    @property
    def catches_all(self) -> bool:
        """See the base class."""
        return self.mode == "redirect"

    @property
    def lets_mptcp_pass(self) -> bool:
        """See the base class."""
        return self.pass_through

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

    @model_serializer(mode="wrap", when_used="json")
    def _drop_unused(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out a key that recordings have only where a scenario sets it."""
        dumped: dict[str, Any] = dump(self)
        return {key: value for key, value in dumped.items() if key != "pass_through" or value}

    @model_validator(mode="after")
    def _check_mode(self) -> Proxy:
        if self.mode != "redirect":
            self._refuse_idle("firewall", self.mode)
            self._refuse_idle("pass_through", self.mode)
        return self


class TunnelProxy(Proxy):
    """A pair of proxies whose entry can also lead one port to one server, of which its client need not know."""

    mode: Mode = Field(  # type: ignore[assignment]
        default="redirect",
        description="redirect: the entry's firewall hands all TCP connections to it; local: workloads on the entry "
        "that name it in `through` speak SOCKS5 to it; tunnel: the entry's port leads to the server of the workload on "
        "the entry that names it in `through`",
    )

    @property
    def forwards(self) -> bool:
        """See the base class."""
        return self.mode == "tunnel"

    def destination(self, context: GatewayContext) -> str:
        """Return address and port of the server that a tunnel leads to, as one word."""
        assert context.destination is not None, "checked when the scenario was loaded"
        return host_port(*context.destination)


def host_port(address: str, port: int) -> str:
    """Return address and port as one word; IPv6 addresses are in brackets."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
