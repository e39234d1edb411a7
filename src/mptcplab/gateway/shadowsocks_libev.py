# SPDX-License-Identifier: MIT
"""shadowsocks-libev, the program of Subramani 2018, as Debian has it; MPTCP by ``mptcpize``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from mptcplab.gateway.base import PASSWORD, GatewayContext, with_file
from mptcplab.gateway.proxy import Mode, TunnelProxy
from mptcplab.steps import Call

_TIMEOUT_SECONDS = 300
#: The program of the entry by mode.
_ENTRIES: Mapping[Mode, str] = {"redirect": "ss-redir", "local": "ss-local", "tunnel": "ss-tunnel"}


class ShadowsocksLibev(TunnelProxy):
    """A pair of ``ss-redir``, ``ss-local`` or ``ss-tunnel`` and ``ss-server``, without UDP.

    Of several servers, the entry chooses one at random for each connection: ``rand() % n`` in ``accept_cb`` of redir.c
    and local.c, with ``srand(time(NULL))`` at its start.

    ``mptcpize`` covers all stream sockets of a program, so the exit asks servers for MPTCP, too. With a server that
    speaks plain TCP, such a connection becomes plain TCP in its handshake.
    """

    packages: ClassVar[Mapping[str, str]] = dict.fromkeys((*_ENTRIES.values(), "ss-server"), "shadowsocks-libev")

    takes_servers: ClassVar[bool] = True

    program: Literal["shadowsocks-libev"]
    cipher: Literal["aes-128-gcm", "aes-256-gcm", "chacha20-ietf-poly1305", "rc4-md5"] = Field(
        default="aes-256-gcm", description="cipher between entry and exit"
    )

    @property
    def refuses_mptcp(self) -> bool:
        """See the base class. ``mptcpize`` makes the entry's listener MPTCP, too.

        Linux does not report the destination that such a connection had before it was redirected: MPTCP sockets lack
        ``SO_ORIGINAL_DST``. ``ss-redir`` then leaves the connection open, so that its client waits for ever.
        """
        return self.mode == "redirect" and self.protocol == "mptcp"

    def exit_call(self, context: GatewayContext) -> Call:
        """See the base class."""
        settings = {"server": context.any_address, **self._common_settings()}
        return self._run("ss-server", context.file("exit.json"), settings)

    def entry_call(self, context: GatewayContext) -> Call:
        """See the base class."""
        listening = context.any_address if self.mode == "redirect" else "0.0.0.0"
        servers = [context.server, *context.more_servers] if context.more_servers else context.server
        settings = {
            "server": servers,
            "local_address": listening,
            "local_port": self.local_port,
            **self._common_settings(),
        }
        if self.forwards:
            settings["tunnel_address"] = self.destination(context)
        return self._run(_ENTRIES[self.mode], context.file("entry.json"), settings)

    def _common_settings(self) -> dict[str, object]:
        return {
            "server_port": self.port,
            "password": PASSWORD,
            "method": self.cipher,
            "timeout": _TIMEOUT_SECONDS,
            "mode": "tcp_only",
        }

    def _run(self, program: str, file: str, settings: Mapping[str, object]) -> Call:
        call = Call((program, "-c", file))
        call = call.run_by("mptcpize", "run") if self.protocol == "mptcp" else call
        return with_file(call, file, json.dumps(settings))
