# SPDX-License-Identifier: MIT
"""The facts in the files of one host, each fact with the file and line that it was read from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mptcplab.explain.evidence import (
    Endpoint,
    JoinError,
    Limits,
    OptionTrace,
    PathEvent,
    Refusal,
    Route,
    SocketCall,
)

#: Places that are kept for one word: the first ones, and the last one.
_MAX_PLACES = 8


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file, counted from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, kw_only=True)
class SocketRow:
    """One socket as ``ss`` printed it once.

    ``protocol`` is ``tcp`` or ``mptcp``, None if neither the table nor the details tell. ``fields`` are its details
    ``NAME:VALUE``, ``words`` those without a value. ``congestion`` is the name of its congestion control.
    """

    time_s: float | None
    protocol: str | None
    state: str
    send_queue: int
    local: str
    remote: str
    device: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    words: frozenset[str] = frozenset()
    congestion: str | None = None


@dataclass(frozen=True, kw_only=True)
class CounterSnapshot:
    """The counters of one ``nstat``. ``has_zeros`` is True if counters that are zero are listed, too."""

    time_s: float | None
    counts: dict[str, int]
    has_zeros: bool


@dataclass
class HostFacts:
    """The facts about one host. None means that no file says anything about it."""

    name: str
    counters: list[CounterSnapshot] = field(default_factory=list)
    endpoints: list[Endpoint] | None = None
    limits: Limits | None = None
    events: list[PathEvent] | None = None
    sockets: list[SocketRow] = field(default_factory=list)
    sysctls: dict[str, str] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    down: set[str] = field(default_factory=set)
    up: set[str] = field(default_factory=set)
    routes: list[Route] = field(default_factory=list)
    cpu_ticks: list[dict[str, tuple[int, int]]] = field(default_factory=list)
    dropped: dict[str, int] = field(default_factory=dict)
    disciplines: dict[str, str] = field(default_factory=dict)
    kernel: str | None = None
    without_settings: bool = False
    join_errors: dict[JoinError, int] = field(default_factory=dict)
    calls: list[SocketCall] = field(default_factory=list)
    unwrapped: list[str] = field(default_factory=list)
    traces: list[OptionTrace] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    devices: dict[str, list[str]] = field(default_factory=dict)
    rule_sources: dict[str, set[str]] = field(default_factory=dict)
    checksummed_bytes: list[int] = field(default_factory=list)
    offloads: bool | None = None
    recognised_lines: int = 0
    kinds: set[str] = field(default_factory=set)
    places: dict[str, list[Place]] = field(default_factory=dict)

    def note(self, word: str, place: Place) -> None:
        """Remember where ``word``, a counter, an address or a setting, was read."""
        places = self.places.setdefault(word, [])
        if len(places) < _MAX_PLACES:
            places.append(place)
        else:
            places[-1] = place

    def recognise(self, kind: str, lines: int = 1) -> None:
        """Count lines that were understood as output of ``kind``, such as ``nstat``."""
        self.kinds.add(kind)
        self.recognised_lines += lines

    def add_endpoint(self, endpoint: Endpoint) -> bool:
        """Add an endpoint, unless an earlier listing has it. The kernel adds implicit ones itself.

        Return whether it was added.
        """
        if self.endpoints is None:
            self.endpoints = []
        if "implicit" in endpoint.flags or endpoint.address in {known.address for known in self.endpoints}:
            return False
        self.endpoints.append(endpoint)
        return True
