# SPDX-License-Identifier: MIT
"""Typed entries of a manifest, for readers of recordings: nodes, links, paths, gateways, radios, events and facts.

``campaign/contract.py`` and ``campaign/record.py`` write them; workloads and programs are read by
:mod:`mptcplab.workload.recorded`. An entry is read when it is asked for, which takes microseconds. Keys of the scenario
that only one reader needs stay in :attr:`LinkDirection.keys`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from mptcplab.errors import LabError
from mptcplab.network.chances import LossChances
from mptcplab.recording.record import REPEAT_HINT, Recording
from mptcplab.units import Duration, Rate

_T = TypeVar("_T")
#: A link and the direction in which a path passes it.
Step = tuple[str, str]
DIRECTIONS = ("forward", "backward")


def _parse_all(kind: type[_T], entries: Iterable[Mapping[str, Any]]) -> list[_T]:
    """Return entries of a manifest as a class whose fields have the names of the keys that readers need."""
    names = [entry.name for entry in fields(kind)]  # type: ignore[arg-type]
    return [kind(**{name: entry[name] for name in names if name in entry}) for entry in entries]


def _parse(kind: type[_T], entry: Mapping[str, Any]) -> _T:
    return _parse_all(kind, [entry])[0]


@dataclass(frozen=True)
class AddressOwner:
    """The owner of an address: the interface of ``node`` on ``link``."""

    node: str
    link: str


#: The owner of each address of a run.
Addresses = Mapping[str, AddressOwner]


@dataclass(frozen=True)
class LinkDirection:
    """One direction of a link, as the scenario asked for it.

    ``payload_bps`` is the maximum payload rate of TCP, None if nothing limits it. ``shaped_at`` has the node and device
    whose disciplines shape the direction, None if none do. ``keys`` are the keys of the scenario with their texts.
    """

    payload_bps: float | None
    shaped_at: tuple[str, str] | None
    chances: LossChances
    keys: Mapping[str, Any]

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> LinkDirection:
        """Return the direction of a manifest's entry."""
        shaper = entry.get("shaped_at")
        chances = LossChances.from_json(entry["chances"]) if "chances" in entry else LossChances()
        return cls(entry.get("payload_bps"), None if shaper is None else (shaper[0], shaper[1]), chances, entry)

    @property
    def rate_bps(self) -> float | None:
        """The rate in bit/s; None without one."""
        rate = self.keys.get("rate")
        return None if rate is None else float(Rate.parse(rate))

    @property
    def delay_s(self) -> float:
        """The configured delay."""
        return Duration.parse(self.keys["delay"]).seconds

    @property
    def has_trace(self) -> bool:
        """True if the direction follows a trace."""
        return bool(self.keys.get("trace"))


@dataclass(frozen=True)
class RecordedLink:
    """A link between two nodes; ``forward`` is from the first to the second."""

    name: str
    between: tuple[str, str]
    forward: LinkDirection
    backward: LinkDirection

    def in_direction(self, direction: str) -> LinkDirection:
        """Return the direction ``forward`` or ``backward``."""
        return self.forward if direction == DIRECTIONS[0] else self.backward

    @property
    def directions(self) -> tuple[LinkDirection, LinkDirection]:
        """Both directions."""
        return self.forward, self.backward


@dataclass(frozen=True)
class NodeEndpoint:
    """An MPTCP endpoint that a node was given. Without ``port``, the kernel chooses one."""

    link: str
    address: str = ""
    flags: Sequence[str] = ()
    port: int | None = None


@dataclass(frozen=True)
class RecordedTransport:
    """The settings of TCP and MPTCP of a node with sockets; None leaves a choice to the kernel.

    ``endpoints`` are the scenario's list, or the keyword ``auto`` or ``none``. ``modes`` are by link.
    """

    protocol: str | None = None
    endpoints: str | Sequence[NodeEndpoint] | None = None
    limits: Mapping[str, int] = field(default_factory=dict)
    modes: Mapping[str, str] = field(default_factory=dict)
    path_manager: str | None = None
    scheduler: str | None = None
    congestion_control: str | None = None
    sysctl: Mapping[str, str | int] = field(default_factory=dict)

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> RecordedTransport:
        """Return the transport of a manifest's entry."""
        endpoints = entry.get("endpoints")
        if endpoints is not None and not isinstance(endpoints, str):
            endpoints = _parse_all(NodeEndpoint, endpoints)
        return _parse(cls, {**entry, "endpoints": endpoints})

    @property
    def listed_endpoints(self) -> Sequence[NodeEndpoint] | None:
        """The endpoints that the scenario lists; None if it leaves them to mptcplab, or wants none."""
        return None if isinstance(self.endpoints, str) else self.endpoints


@dataclass(frozen=True)
class Node:
    """A node. One without sockets of its own has no ``transport`` and no ``endpoints``.

    ``endpoints`` are all that it should have. It ``speaks_mptcp`` also if only its gateway does. ``middlebox`` has the
    actions of a router: what it does to which option.
    """

    name: str
    kind: str
    transport: RecordedTransport | None
    endpoints: Sequence[NodeEndpoint]
    speaks_mptcp: bool
    middlebox: Sequence[Sequence[str]]

    @property
    def backup_links(self) -> set[str]:
        """The links that should carry nothing as long as others work."""
        by_endpoint = {endpoint.link for endpoint in self.endpoints if "backup" in endpoint.flags}
        modes = self.transport.modes.items() if self.transport is not None else ()
        return by_endpoint | {link for link, mode in modes if mode == "backup"}


@dataclass(frozen=True)
class Gateway:
    """A gateway between two nodes.

    ``port`` is where the exit listens, ``listening_port`` where the entry does, None for a tunnel. ``local`` has the
    loopback addresses at which workloads of the entry itself reach it. ``carried`` are the workloads whose connections
    it carries.
    """

    name: str
    program: str
    protocol: str
    entry: str
    exit: str
    port: int
    listening_port: int | None
    local: Mapping[str, str]
    carried: Sequence[str]

    @property
    def is_tunnel(self) -> bool:
        """True if connections pass it from end to end."""
        return self.listening_port is None


@dataclass(frozen=True)
class RecordedRadio:
    """A radio of a node: of a station, or of an access point, which is then its own ``access_point``.

    ``links`` are the links of the stations that begin with it. ``program`` has what it hears.
    """

    node: str
    device: str
    role: str
    mac: str
    access_point: str
    links: Sequence[str]
    program: str
    mode: str = ""
    channel: int | None = None

    @property
    def is_station(self) -> bool:
        """True if it is the radio of a station."""
        return self.role == "station"


@dataclass(frozen=True)
class RecordedKernel:
    """The kernel of a run: its release, the rate of its clock in Hz if known, and the kind of its time.

    ``key`` is the hash of the build.
    """

    release: str
    hz: int | None = None
    time: str = "virtual"
    key: str = ""


@dataclass(frozen=True)
class Facts:
    """The facts that determined a run beside its scenario. ``programs`` and ``libraries`` have digests by name."""

    kernel: RecordedKernel
    mptcplab: str = ""
    engine: str = ""
    programs: Mapping[str, str] = field(default_factory=dict)
    libraries: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RunLabel:
    """The names of a run: its identity, and its point and seed in the experiment."""

    identity: str
    settings: tuple[tuple[str, str], ...]
    seed: int


@dataclass(frozen=True)
class TrackPoint:
    """Where a node is at an instant, in ns from time zero and metres; it moves straight to its next point."""

    at_ns: int
    x: float
    y: float


@dataclass(frozen=True)
class ScheduledEvent:
    """An event as the scenario has it, at an instant from time zero. ``node`` and ``mode`` are empty if it has none."""

    type: str
    at: Duration
    link: str
    node: str
    mode: str


@dataclass(frozen=True)
class RequestedCapture:
    """A capture that the scenario asks for: at one link of a node, or all; some with statistics."""

    node: str
    link: str | None = None
    statistics: bool = False


def read_label(recording: Recording) -> RunLabel:
    """Return what names a run. :raises TypeError: if it is not of the right types."""
    manifest = recording.manifest
    return RunLabel(
        _check_type(str, manifest.get("identity", recording.folder.name)),
        tuple((_check_type(str, key), _check_type(str, value)) for key, value in manifest["settings"]),
        _check_type(int, manifest["seed"]),
    )


def _check_type(kind: type[_T], value: Any) -> _T:
    """Return ``value``. :raises TypeError: if it is not of the type ``kind``."""
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is not of type {kind.__name__}")
    return value


def read_facts(recording: Recording) -> Facts:
    """Return what determined a run."""
    facts = recording.manifest["facts"]
    kernel = _parse(RecordedKernel, facts["kernel"])
    _check_type(str, kernel.release)
    return _parse(Facts, {**facts, "kernel": kernel})


def read_duration_ns(recording: Recording) -> int:
    """Return how long a run took on the engine's clock, from time zero."""
    return int(recording.manifest["virtual_ns"] - recording.manifest["zero_ns"])


def read_scenario(recording: Recording) -> Mapping[str, Any] | None:
    """Return the resolved scenario, whose keys belong to the kinds of its tables; None if the manifest has none."""
    scenario: Mapping[str, Any] | None = recording.manifest.get("scenario")
    return scenario


def read_scheduled_events(recording: Recording) -> list[ScheduledEvent]:
    """Return the events of the scenario, in the order of time."""
    events = [
        ScheduledEvent(
            entry["type"],
            Duration.parse(entry["at"]),
            entry.get("link") or "",
            entry.get("node") or "",
            entry.get("mode") or "",
        )
        for entry in (read_scenario(recording) or {}).get("events", ())
    ]
    return sorted(events, key=lambda event: int(event.at))


def read_requested_captures(recording: Recording) -> list[RequestedCapture]:
    """Return the captures that the scenario asks for."""
    return _parse_all(RequestedCapture, recording.manifest["scenario"]["record"]["captures"])


def read_radio_links(recording: Recording) -> set[str]:
    """Return the links that are between radios."""
    links = (read_scenario(recording) or {}).get("links", {})
    return {name for name, link in links.items() if link.get("radio") is not None}


def read_tracks(recording: Recording) -> dict[str, list[TrackPoint]]:
    """Return where the nodes with radios are, by node, in the order of time; empty without radios."""
    tracks = recording.manifest.get("tracks", {})
    return {node: [TrackPoint(*point) for point in track] for node, track in tracks.items()}


def read_addresses(recording: Recording) -> Addresses:
    """Return the owner of each address of a run."""
    return {address: AddressOwner(**owner) for address, owner in recording.manifest["addresses"].items()}


def read_nodes(recording: Recording) -> dict[str, Node]:
    """Return the nodes of a run by name, in the order of the scenario."""
    return {entry["name"]: _node(entry) for entry in recording.manifest["nodes"]}


def _node(entry: Mapping[str, Any]) -> Node:
    transport = RecordedTransport.from_json(entry["transport"]) if "transport" in entry else None
    return Node(
        name=entry["name"],
        kind=entry.get("kind", ""),
        transport=transport,
        endpoints=_parse_all(NodeEndpoint, entry.get("endpoints", ())),
        speaks_mptcp=transport is not None and (transport.protocol == "mptcp" or "speaks_mptcp" in entry),
        middlebox=entry.get("middlebox") or (),
    )


def read_links(recording: Recording) -> dict[str, RecordedLink]:
    """Return the links of a run by name, in the order of the scenario."""
    return {
        entry["name"]: RecordedLink(
            entry["name"],
            (entry["between"][0], entry["between"][1]),
            LinkDirection.from_json(entry["forward"]),
            LinkDirection.from_json(entry["backward"]),
        )
        for entry in recording.manifest["links"]
    }


def read_paths(recording: Recording, workload: str) -> dict[str, list[Step]]:
    """Return the paths of a workload from its sender to its receiver, by the names that subflows have there."""
    paths = recording.manifest["paths"].get(workload, {})
    return {name: [(link, direction) for link, direction in steps] for name, steps in paths.items()}


def read_gateways(recording: Recording) -> list[Gateway]:
    """Return the gateways of a run, in the order of the scenario."""
    return _parse_all(Gateway, recording.manifest.get("gateways", ()))


def read_radios(recording: Recording) -> list[RecordedRadio]:
    """Return the radios of a run, in the order of the scenario."""
    return _parse_all(RecordedRadio, recording.manifest.get("radios", ()))


def transports_of(recording: Recording, *hosts: str) -> dict[str, RecordedTransport]:
    """Return the transports of nodes with sockets, by name. :raises LabError: if one has none."""
    nodes = read_nodes(recording)
    transports = {name: nodes[name].transport for name in hosts}
    known = {name: transport for name, transport in transports.items() if transport is not None}
    if len(known) < len(transports):
        raise LabError(f"the manifest of {recording.folder} has nodes without transport", hint=REPEAT_HINT)
    return known
