# SPDX-License-Identifier: MIT
"""Xray, with its protocol for Shadowsocks: MPTCP is an option of each of its sockets."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import Field

from mptcplab.gateway.base import PASSWORD, GatewayContext, with_environment, with_file
from mptcplab.gateway.proxy import Proxy
from mptcplab.steps import Call


class Xray(Proxy):
    """A pair of ``xray``, without UDP. Its option is set between the two only, so the outer sides stay plain TCP."""

    program: Literal["xray"]
    cipher: Literal["aes-128-gcm", "aes-256-gcm", "chacha20-poly1305", "none"] = Field(
        default="aes-256-gcm", description="cipher between entry and exit"
    )

    def exit_call(self, context: GatewayContext) -> Call:
        """See the base class."""
        inbound = {
            "listen": context.any_address,
            "port": self.port,
            "protocol": "shadowsocks",
            "settings": {"method": self.cipher, "password": PASSWORD, "network": "tcp"},
            "streamSettings": self._stream_settings(),
        }
        return self._run(context.file("exit.json"), inbound, {"protocol": "freedom"})

    def entry_call(self, context: GatewayContext) -> Call:
        """See the base class."""
        inbound: dict[str, Any] = {"listen": context.any_address, "port": self.local_port}
        if self.mode == "local":
            inbound |= {"listen": "0.0.0.0", "protocol": "socks", "settings": {"auth": "noauth", "udp": False}}
        else:
            inbound |= {
                "protocol": "dokodemo-door",
                "settings": {"network": "tcp", "followRedirect": True},
                "streamSettings": {"sockopt": {"tproxy": "redirect"}},
            }
        server = {"address": context.server, "port": self.port, "method": self.cipher, "password": PASSWORD}
        outbound = {
            "protocol": "shadowsocks",
            "settings": {"servers": [server]},
            "streamSettings": self._stream_settings(),
        }
        return self._run(context.file("entry.json"), inbound, outbound)

    def _stream_settings(self) -> dict[str, Any]:
        return {"sockopt": {"tcpMptcp": self.protocol == "mptcp"}}

    def _run(self, file: str, inbound: dict[str, Any], outbound: dict[str, Any]) -> Call:
        settings = {"log": {"loglevel": "warning"}, "inbounds": [inbound], "outbounds": [outbound]}
        # Go's own choice would make all listening sockets MPTCP.
        call = with_environment(Call(("xray", "run", "-c", file)), GODEBUG="multipathtcp=0")
        return with_file(call, file, json.dumps(settings))
