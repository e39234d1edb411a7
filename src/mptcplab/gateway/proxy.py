# SPDX-License-Identifier: MIT
"""The common part of proxies, which end the client's connection at the entry, and the rules that redirect it there."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from mptcplab.configuration import NftChain, NftTable
from mptcplab.fields import Boolean, Misnomers, Whole
from mptcplab.gateway.base import GatewayBase, GatewayContext, Side
from mptcplab.steps import Command

# Rules at the entry that redirect TCP connections to its program, for ``nft`` and for ``iptables``.
#
# Connections are redirected whether they come from elsewhere (prerouting) or from a program of the entry itself
# (output), unless they go to a network of the entry, to its loopback, or to the exit. The rules for ``iptables`` have
# the form of a chain of their own, as in the scripts of Shadowsocks.
#
# A connection to a server that speaks MPTCP may pass, if its SYN has an option of MPTCP: so do further subflows.

#: The kind of the options of MPTCP in TCP's header.
_MPTCP_OPTION = "30"
_LOOPBACK = {False: "127.0.0.0/8", True: "::1/128"}


def exempt_destinations(context: GatewayContext) -> tuple[str, ...]:
    """Return the destinations that are not redirected, as addresses and subnets."""
    nearby = [_LOOPBACK[context.is_v6], *context.near]
    return tuple(dict.fromkeys((*nearby, *context.exits)))


def redirect_table(context: GatewayContext, port: int) -> NftTable:
    """Return the table that redirects by ``nft``."""
    family = "ip6" if context.is_v6 else "ip"
    # Sets of intervals may not overlap: the exit's addresses in a subnet of the entry are in that already.
    kept = f"{family} daddr {{ {', '.join(_disjoint(exempt_destinations(context)))} }} return"
    passed = f"{family} daddr {{ {', '.join(context.passed)} }} tcp option mptcp exists return"
    rules = (kept, *((passed,) if context.passed else ()), f"meta l4proto tcp redirect to :{port}")
    chains = (
        NftChain(hook, f"type nat hook {hook} priority {priority};", rules)
        for hook, priority in (("prerouting", "dstnat"), ("output", "-100"))
    )
    return NftTable(f"gateway-{context.name}", tuple(chains), family)


def iptables_redirect(node: str, context: GatewayContext, port: int) -> Iterator[Command]:
    """Yield the commands that redirect by ``iptables``, with a chain of its own."""
    program, chain = "ip6tables" if context.is_v6 else "iptables", f"GATEWAY-{context.number}"
    nat = (program, "-w", "-t", "nat")
    yield Command(node, (*nat, "-N", chain))
    for destination in exempt_destinations(context):
        yield Command(node, (*nat, "-A", chain, "-d", destination, "-j", "RETURN"))
    for server in context.passed:
        speaks = ("-p", "tcp", "-d", server, "--tcp-option", _MPTCP_OPTION)
        yield Command(node, (*nat, "-A", chain, *speaks, "-j", "RETURN"))
    yield Command(node, (*nat, "-A", chain, "-p", "tcp", "-j", "REDIRECT", "--to-ports", str(port)))
    for hook in ("PREROUTING", "OUTPUT"):
        yield Command(node, (*nat, "-A", hook, "-p", "tcp", "-j", chain))


def _disjoint(destinations: tuple[str, ...]) -> Iterator[str]:
    networks = [ipaddress.ip_network(destination) for destination in destinations]
    for text, network in zip(destinations, networks, strict=True):
        others = (other for other in networks if other is not network and other.prefixlen <= network.prefixlen)
        if not any(map(network.overlaps, others)):
            yield text


# The common part of proxies: programs that end the client's connection at the entry and open another at the exit.

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
