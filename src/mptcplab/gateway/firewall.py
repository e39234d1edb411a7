# SPDX-License-Identifier: MIT
"""Rules at the entry that redirect TCP connections to its program, for ``nft`` and for ``iptables``.

Connections are redirected whether they come from elsewhere (prerouting) or from a program of the entry itself
(output), unless they go to a network of the entry, to its loopback, or to the exit. The rules for ``iptables`` have the
form of a chain of their own, as in the scripts of Shadowsocks.

A connection to a server that speaks MPTCP may pass, if its SYN has an option of MPTCP: so do further subflows.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from mptcplab.configuration import NftChain, NftTable
from mptcplab.gateway.context import GatewayContext
from mptcplab.steps import Command

#: The kind of the options of MPTCP in TCP's header.
_MPTCP_OPTION = "30"
_LOOPBACK = {False: "127.0.0.0/8", True: "::1/128"}


def exempt_destinations(context: GatewayContext) -> tuple[str, ...]:
    """Return the destinations that are not redirected, as addresses and subnets."""
    own_texts = [_LOOPBACK[context.is_v6], *context.near]
    return tuple(dict.fromkeys((*own_texts, *context.exits)))


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
