# SPDX-License-Identifier: MIT
"""OpenVPN over TCP: a tunnel between the gateways, through which packets pass unchanged; MPTCP by ``mptcpize``."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from typing import ClassVar, Literal

from pydantic import Field

from mptcplab.configuration import NftTable, masquerade
from mptcplab.fields import LinkName, Misnomers
from mptcplab.gateway.base import GatewayBase, GatewayContext
from mptcplab.steps import Call, Command, shell

_CIPHERS = {
    "aes-128-gcm": "AES-128-GCM",
    "aes-256-gcm": "AES-256-GCM",
    "chacha20-poly1305": "CHACHA20-POLY1305",
    "none": "none",
}
#: The table and its rule come before the tables of the nodes' own addresses, which begin with 100.
_FIRST_TABLE = 50
_DAYS = "36500"


class OpenVpn(GatewayBase):
    """A pair of ``openvpn``: the exit as a server of several clients, which works without polling, and one client.

    All packets for networks beyond the exit enter the tunnel, and nothing else carries them while it is down. Both
    sides translate addresses, so that neither hosts nor servers need routes to each other.
    """

    misnomers: ClassVar[Misnomers] = {
        "device": ("dev", "interface", "iface", "tun"),
    }

    packages: ClassVar[Mapping[str, str]] = {"mptcpize": "mptcpize", "openssl": "openssl", "nft": "nftables"}
    cost_factor: ClassVar[float] = 14.0
    start_cpu_seconds: ClassVar[float] = 3.0

    program: Literal["openvpn"]
    mode: Literal["tunnel"] = Field(default="tunnel", description="tunnel: it carries packets, not connections")
    cipher: Literal["aes-128-gcm", "aes-256-gcm", "chacha20-poly1305", "none"] = Field(
        default="aes-256-gcm", description="cipher between entry and exit"
    )
    device: LinkName = Field(default="tun0", description="name of the tunnel's interface on both nodes")

    @property
    def catches_all(self) -> bool:
        """See the base class."""
        return True

    @property
    def tunnel_device(self) -> str | None:
        """See the base class."""
        return self.device

    def commands(self, context: GatewayContext) -> Iterator[Command]:
        """Yield the keys, the tunnel's devices with addresses and translation, and the entry's routes into it."""
        yield self._keys(context)
        network, nodad = _network(context), ("nodad",) if context.is_v6 else ()
        for node, address in ((self.exit, network[1]), (self.entry, _entry_address(context))):
            yield Command(node, ("ip", "tuntap", "add", "dev", self.device, "mode", "tun"))
            subnet = f"{address}/{network.prefixlen}"
            yield Command(node, ("ip", "address", "add", subnet, "dev", self.device, *nodad))
            yield Command(node, ("ip", "link", "set", "dev", self.device, "up"))
            forwarding = "net.ipv6.conf.all.forwarding=1" if context.is_v6 else "net.ipv4.ip_forward=1"
            yield Command(node, ("sysctl", "-qw", forwarding))
        for node, match in ((self.entry, "oifname"), (self.exit, "iifname")):
            yield NftTable(f"tunnel-{context.name}", (masquerade(f'{match} "{self.device}" '),)).command(node)
        yield from self._routes(context)

    def exit_call(self, context: GatewayContext) -> Call:
        """See the base class."""
        v4 = _network_v4(context.number)
        words = ["--server", str(v4.network_address), str(v4.netmask), "--topology", "subnet", "--duplicate-cn"]
        if context.is_v6:
            words += ["--server-ipv6", str(_network(context))]
        proto = "tcp6-server" if context.is_v6 else "tcp4-server"
        words += ["--proto", proto, "--lport", str(self.port), "--dh", "none"]
        return self._run(context, "exit", "entry", words)

    def entry_call(self, context: GatewayContext) -> Call:
        """See the base class."""
        proto = "tcp6-client" if context.is_v6 else "tcp4-client"
        words = ["--client", "--nobind", "--proto", proto, "--remote", context.server, str(self.port)]
        words += ["--connect-retry", "1", "1", "--remote-cert-tls", "server"]
        return self._run(context, "entry", "exit", words)

    def _run(self, context: GatewayContext, side: str, other: str, words: list[str]) -> Call:
        cipher = _CIPHERS[self.cipher]
        shared = ["--dev", self.device, "--dev-type", "tun", "--ifconfig-noexec", "--route-noexec", "--persist-tun"]
        shared += ["--ca", context.file(f"{other}.crt"), "--cert", context.file(f"{side}.crt")]
        shared += ["--key", context.file(f"{side}.key"), "--data-ciphers", cipher, "--verb", "1", "--persist-key"]
        shared += ["--auth", "none", "--tls-cert-profile", "insecure"] if cipher == "none" else []
        call = Call(("openvpn", *words, *shared))
        return call.run_by("mptcpize", "run") if self.protocol == "mptcp" else call

    def _keys(self, context: GatewayContext) -> Command:
        """Return the command that makes a key and a certificate of each side, which the other side trusts."""
        lines = []
        for side, use in (("exit", "serverAuth"), ("entry", "clientAuth")):
            words = ("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
            files = ("-keyout", context.file(f"{side}.key"), "-out", context.file(f"{side}.crt"), "-days", _DAYS)
            uses = ("-addext", "keyUsage=digitalSignature,keyCertSign", "-addext", f"extendedKeyUsage={use}")
            lines.append(str(Call((*words, *files, "-subj", f"/CN={side}", *uses))))
        call = shell(" && ".join(lines), "openssl")
        return Command(self.exit, call.argv, call.starts)

    def _routes(self, context: GatewayContext) -> Iterator[Command]:
        table = str(_FIRST_TABLE + context.number)
        ip = ("ip", "-6") if context.is_v6 else ("ip",)
        exit_address = str(_network(context)[1])
        for subnet in context.beyond:
            yield Command(self.entry, (*ip, "rule", "add", "to", subnet, "table", table, "priority", table))
            route = ("ip", "route", "add", subnet, "via", exit_address, "dev", self.device, "table", table)
            yield Command(self.entry, route)
        for address in context.exits:
            # The tunnel itself, and everything else to the exit, goes outside.
            rule = (*ip, "rule", "add", "to", address, "lookup", "main", "priority", str(_FIRST_TABLE - 1))
            yield Command(self.entry, rule)


def _network_v4(number: int) -> ipaddress.IPv4Network:
    return ipaddress.IPv4Network(f"10.255.{number}.0/24")


def _network(context: GatewayContext) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    """Return the tunnel's network, of which the exit has the first address."""
    if context.is_v6:
        return ipaddress.IPv6Network(f"fd00:6d70:7475:{context.number:x}::/64")
    return _network_v4(context.number)


def _entry_address(context: GatewayContext) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return the address that the exit gives to its first client: OpenVPN counts from 2, and from 0x1000 with IPv6."""
    return _network(context)[0x1000 if context.is_v6 else 2]
