# SPDX-License-Identifier: MIT
"""The end of a TCP connection as a user names it: ``ADDRESS``, ``ADDRESS:PORT`` or ``:PORT``."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mptcplab.capture.packet import SocketAddress
from mptcplab.errors import InputError

_HINT = "write ADDRESS, ADDRESS:PORT or :PORT, like 10.0.1.1:5001 or [fd00::1]:5001"


@dataclass(frozen=True)
class End:
    """An address, a port, or both."""

    address: str | None
    port: int | None

    def fits(self, endpoint: SocketAddress) -> bool:
        """Return whether ``endpoint`` has the address and the port, as far as these are named."""
        return self.address in (None, endpoint.address) and self.port in (None, endpoint.port)

    def __str__(self) -> str:
        if self.port is None:
            return str(self.address)
        return f":{self.port}" if self.address is None else str(SocketAddress(self.address, self.port))


def parse_end(text: str) -> End:
    """Return the end that ``text`` names. :raises InputError: if it names none."""
    address, colon, port = text.rpartition(":")
    if not colon or (address.count(":") and not address.endswith("]")):
        address, colon, port = text, "", ""  # no port; the colons belong to an IPv6 address
    bare = address.removeprefix("[").removesuffix("]")
    try:
        name = str(ipaddress.ip_address(bare)) if bare else None
    except ValueError as error:
        raise InputError(f"'{text}': '{bare}' is not an IP address", hint=_HINT) from error
    if colon and not (port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16):
        raise InputError(f"'{text}': '{port}' is not a port", hint=_HINT)
    if name is None and not colon:
        raise InputError("an end of a connection cannot be empty", hint=_HINT)
    return End(name, int(port) if colon else None)


def are_fitted(ends: Sequence[End], pair: Iterable[SocketAddress]) -> bool:
    """Return whether each of ``ends`` fits one of the two endpoints of a connection."""
    both = tuple(pair)
    return all(any(end.fits(item) for item in both) for end in ends)
