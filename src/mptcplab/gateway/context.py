# SPDX-License-Identifier: MIT
"""The view that a gateway has of its scenario: addresses as text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GatewayContext:
    """The gateway called ``name``, the ``number``-th of the scenario from 0.

    ``server`` is the address of the exit that the entry connects to; with ``more_servers`` it is the first of several.
    ``near`` has the subnets of the entry, ``exits``
    all addresses of the exit, ``beyond`` the subnets that are reached through the exit, and ``local`` the loopback
    address for each workload that speaks to the entry by itself. ``passed`` has the addresses of servers that speak
    MPTCP, if their connections pass the gateway by; ``destination`` is address and port of the server that the entry's
    port leads to, if it forwards. ``folder`` has the files of both programs.
    """

    name: str
    number: int
    server: str
    near: tuple[str, ...]
    exits: tuple[str, ...]
    beyond: tuple[str, ...]
    local: tuple[tuple[str, str], ...] = ()
    folder: str = "/tmp"
    more_servers: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    destination: tuple[str, int] | None = None

    @property
    def is_v6(self) -> bool:
        """True if the scenario uses IPv6."""
        return ":" in self.server

    @property
    def any_address(self) -> str:
        """The address of a socket that listens on all addresses of the scenario's family."""
        return "::" if self.is_v6 else "0.0.0.0"

    def file(self, role: str) -> str:
        """Return the path of a file of one side (``entry.json``)."""
        return f"{self.folder}/mptcplab-gateway-{self.name}.{role}"
