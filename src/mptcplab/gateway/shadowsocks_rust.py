# SPDX-License-Identifier: MIT
"""shadowsocks-rust: MPTCP is an option of its own."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import Field

from mptcplab.gateway.base import PASSWORD, GatewayContext, with_file
from mptcplab.gateway.proxy import Proxy
from mptcplab.steps import Call


class ShadowsocksRust(Proxy):
    """A pair of ``sslocal`` and ``ssserver``, without UDP.

    Its option covers all stream sockets of a program but the listener that connections are redirected to, so the exit
    asks servers for MPTCP, too. With a server that speaks plain TCP, such a connection becomes plain TCP in its
    handshake.
    """

    program: Literal["shadowsocks-rust"]
    cipher: Literal["aes-128-gcm", "aes-256-gcm", "chacha20-ietf-poly1305", "none"] = Field(
        default="aes-256-gcm", description="cipher between entry and exit"
    )

    def exit_call(self, context: GatewayContext) -> Call:
        """See the base class."""
        settings = {"server": context.any_address, **self._common_settings()}
        return self._run("ssserver", context.file("exit.json"), settings)

    def entry_call(self, context: GatewayContext) -> Call:
        """See the base class."""
        is_local = self.mode == "local"
        listener: dict[str, Any] = {
            "local_address": "0.0.0.0" if is_local else context.any_address,
            "local_port": self.local_port,
            **({"protocol": "socks"} if is_local else {"protocol": "redir", "tcp_redir": "redirect"}),
        }
        settings = {"server": context.server, "locals": [listener], **self._common_settings()}
        return self._run("sslocal", context.file("entry.json"), settings)

    def _common_settings(self) -> dict[str, Any]:
        return {
            "server_port": self.port,
            "password": PASSWORD,
            "method": self.cipher,
            "mode": "tcp_only",
            "mptcp": self.protocol == "mptcp",
            "runtime": {"mode": "single_thread"},
        }

    def _run(self, program: str, file: str, settings: dict[str, Any]) -> Call:
        return with_file(Call((program, "-c", file)), file, json.dumps(settings))
