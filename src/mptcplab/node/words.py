# SPDX-License-Identifier: MIT
"""Events of path managers as recordings hold them: how they are written, read, and put into words."""

from __future__ import annotations

import re
from dataclasses import dataclass

#: The kinds of events of endpoints, and of limits. The first three are of a link, the last is of a node.
ADDED, REMOVED, CHANGED = "endpoint-added", "endpoint-removed", "endpoint-changed"
LIMITS = "limits-changed"
OF_ENDPOINTS = (ADDED, REMOVED, CHANGED)
OF_PATH_MANAGERS = (*OF_ENDPOINTS, LIMITS)
_LIMITS = re.compile(r"subflows (\d+), add_addr_accepted (\d+)\Z")


@dataclass(frozen=True)
class EndpointEvent:
    """The endpoint of ``node`` that an event adds, removes or changes; ``flags`` are what it has from then on."""

    node: str
    address: str
    port: int | None
    flags: tuple[str, ...]

    def __str__(self) -> str:
        """Return the value of the event in a recording: ``client 10.0.1.1 port 80 signal``."""
        port = ("port", str(self.port)) if self.port is not None else ()
        return " ".join((self.node, self.address, *port, *self.flags))

    @classmethod
    def parse(cls, value: str) -> EndpointEvent:
        """Return what ``value`` of a recording says."""
        node, address, *words = value.split()
        port = int(words[1]) if words[:1] == ["port"] else None
        return cls(node, address, port, tuple(words if port is None else words[2:]))


def limits_value(subflows: int, add_addr_accepted: int) -> str:
    """Return the value of an event of limits in a recording, which :func:`parse_limits` reads."""
    return f"subflows {subflows}, add_addr_accepted {add_addr_accepted}"


def parse_limits(value: str) -> dict[str, int]:
    """Return the limits that the value of an event sets, by the names of the kernel."""
    matched = _LIMITS.match(value)
    return dict(zip(("subflows", "add_addr_accepted"), map(int, matched.groups()), strict=True)) if matched else {}


def path_manager_words(kind: str, name: str, value: str) -> str | None:
    """Return an event of a path manager in words, like ``access2: endpoint added at client (backup, subflow)``.

    ``name`` is the name in the recording, of a link or node. None if it is another event.
    """
    if kind == LIMITS:
        return f"{name}: limits {value}"
    if kind not in OF_ENDPOINTS:
        return None
    event = EndpointEvent.parse(value)
    details = (*((f"port {event.port}",) if event.port is not None else ()), *sorted(event.flags))
    listed = f" ({', '.join(details)})" if details else ""
    return f"{name}: {kind.replace('-', ' ')} at {event.node}{listed}"
