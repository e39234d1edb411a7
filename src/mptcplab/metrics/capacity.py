# SPDX-License-Identifier: MIT
"""The capacity of a workload's paths over time, where the rate of a link changes during a run.

Rates come from the manifest, then from traces and events in the recording, as payload in full packets. A link that is
down in either direction carries nothing: TCP needs its acknowledgements. Nor does a link carry
anything whose end has lost its address.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from mptcplab.lazy import Numbers, np, pl
from mptcplab.metrics.instants import NetworkEvent, read_events
from mptcplab.metrics.manifest import (
    DIRECTIONS,
    Node,
    RecordedTransport,
    Step,
    read_links,
    read_nodes,
    read_paths,
    read_radio_links,
)
from mptcplab.metrics.subflows import Ends, SocketSample, gateways_of
from mptcplab.recording.record import Recording
from mptcplab.units import Rate

_NS = 1e9
_SILENT = "silent"
#: Payload is at least this part of what a shaper counts; if it is less, a plugin limits the link, too.
_LEAST_PAYLOAD = 0.75


@dataclass(frozen=True)
class Capacity:
    """Payload in bit/s from each time, in s, to the next. The first is that from before the run on, at -inf."""

    times_s: Numbers
    bps: Numbers

    def clip(self, begin_s: float, end_s: float) -> Capacity:
        """Return the values from one time to another, only where they change; the first is at ``begin_s``."""
        first = int(np.searchsorted(self.times_s, begin_s, side="right")) - 1
        last = int(np.searchsorted(self.times_s, end_s, side="left"))
        times, values = self.times_s[first:last].copy(), self.bps[first:last]
        times[0] = begin_s
        kept = np.concatenate(([True], np.diff(values) != 0))
        return Capacity(times[kept], values[kept])


@dataclass
class _Links:
    """The state of the links of some paths, event by event."""

    rates: dict[Step, float]
    shares: dict[Step, float]
    silent: set[Step] = field(default_factory=set)
    down: set[str] = field(default_factory=set)
    without_address: set[tuple[str, str]] = field(default_factory=set)

    def change(self, event: NetworkEvent) -> None:
        """Apply an event."""
        link, kind, value = event.link, event.kind, event.value
        directions = (event.direction,) if event.direction in DIRECTIONS else DIRECTIONS
        if kind in ("trace", "change"):
            rate = rate_of(value)
            if rate is not None:
                self.rates |= {
                    (link, direction): rate * self.shares[link, direction]
                    for direction in directions
                    if self._has_share(link, direction)
                }
        elif kind == "down":
            if value == _SILENT:
                self.silent |= {(link, direction) for direction in directions}
            else:
                self.down.add(link)
        elif kind == "up":
            self.silent -= {(link, direction) for direction in directions}
            self.down.discard(link)
        elif kind == "address-removed":
            self.without_address.add((link, value))
        elif kind == "address-added":
            self.without_address.discard((link, value))

    def _has_share(self, link: str, direction: str) -> bool:
        return (link, direction) in self.shares

    def carried_rates(self, steps: Iterable[Step]) -> list[float]:
        """Return what each of ``steps`` carries, infinity if nothing limits it."""
        dead = {link for link, _ in (*self.silent, *self.without_address)} | self.down
        return [0.0 if step[0] in dead else self.rates.get(step, np.inf) for step in steps]


def capacity_of(
    recording: Recording, ends: Ends, used: Collection[str], received: Sequence[SocketSample]
) -> Capacity | None:
    """Return what the paths of a workload could carry: the paths that MPTCP may use, or the paths that TCP ``used``.

    ``received`` are samples of the receiver's sockets. None if no link of these paths changes its rate, or if it is
    unknown: behind a NAT, a gateway or a radio link, or if paths share links so that their sum is not known.
    """
    known = read_paths(recording, ends.workload)
    if not used or not set(used) <= set(known) or next(gateways_of(recording, ends.workload), None) is not None:
        return None
    nodes = read_nodes(recording)
    names = _usable_paths(nodes, ends, known, used) if _is_mptcp(recording, ends, received) else used
    paths = [known[name] for name in names]
    events = sorted(read_events(recording), key=lambda event: event.instant_ns)
    links = _links(recording, {step for path in paths for step in path})
    if links is None or not any(_changes_rate(event, links) for event in events):
        return None
    times, rates = _history(links, paths, events)
    total = joint_capacity([_limiting_steps(path, rates) for path in paths], rates)
    return Capacity(times, total) if total is not None and np.isfinite(total).all() else None


def joint_capacity(paths: Collection[frozenset[Step]], rates: Mapping[Step, Numbers]) -> Numbers | None:
    """Return what paths can carry together if each carries what its steps leave to it; a shared one counts once.

    None if some paths, but not all paths that belong together, share a step: that would need an optimum.
    """
    unlimited = np.full(len(next(iter(rates.values()))), np.inf)
    total = np.zeros_like(unlimited)
    for group in _groups(set(paths)):
        shared = frozenset.intersection(*group)
        if not shared:
            if len(group) > 1:
                return None
            return unlimited
        bound = np.minimum.reduce([rates[step] for step in shared])
        if len(group) > 1:
            others = joint_capacity([path - shared for path in group], rates)
            if others is None:
                return None
            bound = np.minimum(bound, others)
        total += bound
    return total


def _groups(paths: Collection[frozenset[Step]]) -> Iterator[list[frozenset[Step]]]:
    """Yield the paths that share steps with each other, directly or by others."""
    left = sorted(paths, key=sorted)
    while left:
        group, reached = [left.pop(0)], True
        while reached:
            reached = False
            for path in list(left):
                if any(path & pairs for pairs in group):
                    left.remove(path)
                    group.append(path)
                    reached = True
        yield group


def _limiting_steps(path: Sequence[Step], rates: Mapping[Step, Numbers]) -> frozenset[Step]:
    """Return the steps of a path that limit it at some time."""
    return frozenset(step for step in path if np.isfinite(rates[step]).any())


def _links(recording: Recording, steps: Collection[Step]) -> _Links | None:
    """Return the links as they are before the first event; None if what one carries is unknown."""
    links = read_links(recording)
    radios = read_radio_links(recording)
    rates, shares = {}, {}
    for link, direction in steps:
        if link in radios:
            return None
        settings = links[link].in_direction(direction)
        payload_bps, rate_bps = settings.payload_bps, settings.rate_bps
        if payload_bps is not None:
            rates[link, direction] = payload_bps
        if payload_bps is not None and rate_bps is not None:
            shares[link, direction] = payload_bps / rate_bps
            if shares[link, direction] < _LEAST_PAYLOAD:
                return None
    return _Links(rates, shares)


def _changes_rate(event: NetworkEvent, links: _Links) -> bool:
    """Return whether an event sets the rate of one of ``links``."""
    is_here = any(link == event.link for link, _ in links.shares)
    return is_here and event.kind in ("trace", "change") and rate_of(event.value) is not None


def rate_of(value: str) -> float | None:
    """Return the rate in bit/s among the values that an event sets: ``rate 5 Mbit/s, loss 1 %``."""
    texts = (part.removeprefix("rate ") for part in value.split(", ") if part.startswith("rate "))
    return next((float(Rate.parse(text)) for text in texts), None)


def _history(
    links: _Links, paths: Sequence[Sequence[Step]], events: Iterable[NetworkEvent]
) -> tuple[Numbers, dict[Step, Numbers]]:
    """Return the times at which something happens, -inf first, and what each step of the paths carries from then on."""
    steps = sorted({step for path in paths for step in path})
    times, values = [-np.inf], [links.carried_rates(steps)]
    for instant_ns, of_instant in groupby(events, key=lambda event: event.instant_ns):
        for event in of_instant:
            links.change(event)
        times.append(instant_ns / _NS)
        values.append(links.carried_rates(steps))
    table = np.array(values, dtype=np.float64)
    return np.array(times), {step: table[:, number] for number, step in enumerate(steps)}


def _is_mptcp(recording: Recording, ends: Ends, received: Sequence[SocketSample]) -> bool:
    """Return whether a connection spoke MPTCP, as its sockets show it, and did not fall back."""
    table, program = recording.connections, ends.receiving
    spoke: set[Any] = set()
    fell_back: set[Any] = set()
    if program is not None and {"fallback", "program"} <= set(table.columns):
        of_program = table.filter(pl.col("program") == program)
        fell_back = set(of_program.filter(pl.col("fallback"))["conn"])
        spoke = (
            set(of_program.filter(pl.col("token").is_not_null())["conn"]) if "token" in of_program.columns else spoke
        )
    conns = {sample.conn for sample in received if sample.shows_mptcp or sample.conn in spoke}
    return bool(conns - fell_back)


def _usable_paths(
    nodes: Mapping[str, Node], ends: Ends, known: Mapping[str, Sequence[Step]], used: Collection[str]
) -> list[str]:
    """Return the paths that MPTCP may use: those between links that have endpoints at both ends, and the ``used``."""
    hosts = [nodes[name].transport if name in nodes else None for name in (ends.sender, ends.receiver)]
    first, last = {known[name][0][0] for name in used}, {known[name][-1][0] for name in used}
    texts = [
        name
        for name, steps in known.items()
        if _has_endpoint(hosts[0], steps[0][0], first) and _has_endpoint(hosts[1], steps[-1][0], last)
    ]
    limits = [host.limits["subflows"] for host in hosts if host is not None and host.limits]
    return list(used) if len(texts) - 1 > min(limits, default=len(texts)) else texts


def _has_endpoint(transport: RecordedTransport | None, link: str, used: Collection[str]) -> bool:
    """Return whether a host may have a subflow on its link: it ``used`` it, or its path manager may."""
    if link in used or transport is None:
        return True
    listed = transport.listed_endpoints
    if listed is not None:
        return any(endpoint.link == link for endpoint in listed)
    return transport.endpoints != "none" and transport.modes.get(link) != "off"
