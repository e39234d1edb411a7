# SPDX-License-Identifier: MIT
"""go-shadowsocks2, the program of Sriaimsard 2019: MPTCP by a setting of Go's runtime."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from mptcplab.fields import Misnomers
from mptcplab.gateway.base import PASSWORD, GatewayContext, with_environment
from mptcplab.gateway.proxy import TunnelProxy, host_port
from mptcplab.steps import Call

#: Programs by version. Since 0.1.4 both sides wait for 5 s before they close a connection that only one end has closed:
#: a client that waits for the end of its connection, as with FTP, gets it after 10 s.
PROGRAMS = {"0.1.5": "go-shadowsocks2", "0.0.11": "go-shadowsocks2-0.0.11"}
#: The names that the program has for ciphers, by ours.
CIPHERS = {
    "aes-128-gcm": "AEAD_AES_128_GCM",
    "aes-256-gcm": "AEAD_AES_256_GCM",
    "chacha20-poly1305": "AEAD_CHACHA20_POLY1305",
    "none": "DUMMY",
}
#: Values of multipathtcp in GODEBUG (Go 1.24, package internal/godebugs): no MPTCP, only for sockets that listen, only
#: for sockets that connect. So the outer side of both programs stays plain TCP.
_TCP, _LISTEN, _CONNECT = "0", "2", "3"


class GoShadowsocks2(TunnelProxy):
    """A pair of ``go-shadowsocks2``, without UDP."""

    misnomers: ClassVar[Misnomers] = {
        "version": ("release", "tag"),
    }

    program: Literal["go-shadowsocks2"]
    cipher: Literal["aes-128-gcm", "aes-256-gcm", "chacha20-poly1305", "none"] = Field(
        default="aes-256-gcm", description="cipher between entry and exit"
    )

    version: Literal["0.1.5", "0.0.11"] = Field(
        default="0.1.5", description="release of the program; 0.0.11 is from 2018, and closes connections at once"
    )

    def exit_call(self, context: GatewayContext) -> Call:
        """See the base class."""
        call = Call((PROGRAMS[self.version], "-s", f"ss://{self._user()}@{host_port(context.any_address, self.port)}"))
        return with_environment(call, GODEBUG=self._debug(_LISTEN))

    def entry_call(self, context: GatewayContext) -> Call:
        """See the base class."""
        server = f"ss://{self._user()}@{host_port(context.server, self.port)}"
        if self.mode == "local":
            listener = ("-socks", host_port("0.0.0.0", self.local_port))
        elif self.forwards:
            listener = ("-tcptun", f"{host_port('0.0.0.0', self.local_port)}={self.destination(context)}")
        else:
            listener = ("-redir6" if context.is_v6 else "-redir", host_port(context.any_address, self.local_port))
        return with_environment(Call((PROGRAMS[self.version], "-c", server, *listener)), GODEBUG=self._debug(_CONNECT))

    def _user(self) -> str:
        return f"{CIPHERS[self.cipher]}:{PASSWORD}"

    def _debug(self, with_mptcp: str) -> str:
        return f"multipathtcp={with_mptcp if self.protocol == 'mptcp' else _TCP}"
