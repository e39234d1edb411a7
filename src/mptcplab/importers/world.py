# SPDX-License-Identifier: MIT
"""The network that was read, before it is a scenario: nodes, devices, cables, and lines that were not understood.

Readers of all formats fill one :class:`World`; :mod:`mptcplab.importers.compose` makes a scenario of it. Each value is
kept with its origin, as :class:`~mptcplab.scenario.writing.CommentedValue`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Interface
from typing import Any

from mptcplab.errors import InputError
from mptcplab.scenario.writing import CommentedValue
from mptcplab.units import Size

Interface = IPv4Interface | IPv6Interface
Address = IPv4Address | IPv6Address
#: The keys of one direction of a link, as the scenario language has them.
Shape = dict[str, CommentedValue]

_MAX_NODES, _MAX_DEVICES, _MAX_NOTES = 200, 1000, 2000


@dataclass(frozen=True, order=True)
class Origin:
    """A line of a file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class UnreadLine:
    """A line that is not imported, and the reason."""

    origin: Origin
    text: str
    reason: str


@dataclass
class ImportedDiscipline:
    """One queueing discipline, or one class, of a device, with its options as words."""

    kind: str
    parent: str
    handle: str
    words: tuple[str, ...]
    origin: Origin
    is_class: bool = False


@dataclass
class Device:
    """A network interface. ``shape`` describes what it sends, ``disciplines`` replace it where there are any.

    ``redirect`` is the device, an IFB, that gets what arrives here, before the node sees it.
    """

    node: str
    name: str
    kind: str = ""
    mtu: CommentedValue | None = None
    addresses: list[tuple[Interface, Origin]] = field(default_factory=list)
    disciplines: list[ImportedDiscipline] = field(default_factory=list)
    shape: Shape = field(default_factory=dict)
    redirect: str | None = None
    master: str | None = None
    is_backup: bool = False
    #: It belongs to a path although nothing else is known of it.
    is_path: bool = False
    #: What it sends is shaped by the node itself, as by ``tc`` on a host, and not by the line behind it.
    at_sender: bool = True
    #: What it did before the first change while programs ran.
    initial: Shape | None = None


@dataclass
class EndpointLine:
    """An endpoint of MPTCP as a command gives it."""

    address: Address
    flags: tuple[str, ...]
    port: int | None
    id: int | None
    origin: Origin


@dataclass
class ImportedNode:
    """A machine, a network namespace, a switch."""

    name: str
    forwards: bool = False
    is_switch: bool = False
    transport: dict[str, CommentedValue] = field(default_factory=dict)
    sysctl: dict[str, CommentedValue] = field(default_factory=dict)
    endpoints: list[EndpointLine] = field(default_factory=list)
    limits: dict[str, CommentedValue] = field(default_factory=dict)


@dataclass
class ImportedTransfer:
    """A program that transfers data. ``to`` is an address, or the name of a node."""

    source: str
    to: Address | str | None
    keys: dict[str, Any]
    start_s: float
    origin: Origin


@dataclass
class TimedChange:
    """Something that happens while programs run: ``keys`` of an event; of the device, or of an address."""

    at_s: float
    node: str
    device: str
    keys: dict[str, Any]
    origin: Origin
    address: Address | None = None


class World:
    """The state that readers fill."""

    def __init__(self) -> None:
        self.title = ""
        self.nodes: dict[str, ImportedNode] = {}
        self.devices: dict[tuple[str, str], Device] = {}
        self.cables: list[tuple[Device, Device, Origin]] = []
        self.transfers: list[ImportedTransfer] = []
        self.changes: list[TimedChange] = []
        self.transport: dict[str, CommentedValue] = {}
        self.unread: list[UnreadLine] = []
        self.replaced: dict[str, set[Origin]] = {}
        self.assumptions: list[str] = []
        #: MPTCP is configured by commands, so that what no command sets has the kernel's default.
        self.is_configured = False
        #: Instant of the next command, from the first transfer on; None before it.
        self.now_s: float | None = None

    def node(self, name: str) -> ImportedNode:
        """Return the node with this name; it is made if it is new. :raises InputError: if there are too many."""
        if name not in self.nodes:
            if len(self.nodes) >= _MAX_NODES:
                raise InputError(f"there are more than {_MAX_NODES} nodes", hint="import a smaller network")
            self.nodes[name] = ImportedNode(name)
        return self.nodes[name]

    def device(self, node: str, name: str) -> Device:
        """Return a device of a node, which is made if it is new. :raises InputError: if there are too many."""
        self.node(node)
        key = (node, name)
        if key not in self.devices:
            if len(self.devices) >= _MAX_DEVICES:
                raise InputError(f"there are more than {_MAX_DEVICES} interfaces", hint="import a smaller network")
            self.devices[key] = Device(node, name)
        return self.devices[key]

    def devices_of(self, node: str) -> Iterator[Device]:
        """Yield the devices of a node, in the order in which they were made."""
        return (device for device in self.devices.values() if device.node == node)

    def owner(self, address: Address) -> Device | None:
        """Return the device that has an address."""
        for device in self.devices.values():
            if any(interface.ip == address for interface, _ in device.addresses):
                return device
        return None

    def move(self, device: Device, node: str) -> None:
        """Put a device into another node, as ``ip link set DEV netns NODE`` does; it loses its addresses."""
        del self.devices[device.node, device.name]
        self.node(node)
        device.node, device.addresses = node, []
        self.devices[node, device.name] = device

    def skip(self, origin: Origin, text: str, reason: str) -> None:
        """Note that a line is not imported."""
        if len(self.unread) < _MAX_NOTES:
            self.unread.append(UnreadLine(origin, printable(text), reason))

    def replace(self, what: str, origin: Origin) -> None:
        """Note that the lab does by itself what a line asks for."""
        self.replaced.setdefault(what, set()).add(origin)

    def assume(self, text: str) -> None:
        """Note an assumption, once."""
        if text not in self.assumptions:
            self.assumptions.append(text)


def printable(text: str) -> str:
    """Return a stranger's text on one line, without control characters and not too long."""
    line = text.strip()
    if not line.isprintable():
        line = "".join(letter if letter.isprintable() else " " for letter in line)
    return line if len(line) <= 100 else f"{line[:97]}..."


# Settings of the kernel (sysctl) as keys of a node's transport.

#: Settings that each network namespace of mainline Linux has, and that a scenario may set as they are.
_SETTINGS = frozenset(
    [f"net.mptcp.{name}" for name in ("add_addr_timeout", "allow_join_initial_addr_port", "blackhole_timeout")]
    + [f"net.mptcp.{name}" for name in ("checksum_enabled", "close_timeout", "stale_loss_cnt")]
    + [
        f"net.ipv4.tcp_{name}"
        for name in (
            "ecn", "sack", "dsack", "timestamps", "window_scaling", "slow_start_after_idle", "no_metrics_save",
            "moderate_rcvbuf", "notsent_lowat", "syn_retries", "synack_retries", "retries1", "retries2", "fin_timeout",
            "keepalive_time", "keepalive_intvl", "keepalive_probes", "fastopen", "mtu_probing", "autocorking",
            "early_retrans", "recovery", "frto", "reordering", "limit_output_bytes", "min_tso_segs", "pacing_ss_ratio",
            "pacing_ca_ratio", "adv_win_scale", "max_syn_backlog", "syncookies", "abort_on_overflow", "tw_reuse",
            "thin_linear_timeouts", "shrink_window", "syn_linear_timeouts", "orphan_retries", "comp_sack_delay_ns",
        )
    ]
)  # fmt: skip
#: Settings of the out-of-tree kernel (multipath-tcp.org).
_OLD = "net.mptcp.mptcp_"
_CONTROLS = ("reno", "cubic", "bbr", "westwood", "vegas", "veno", "illinois", "dctcp", "lia", "olia", "balia", "wvegas")
#: Schedulers by the names that kernels give them: mainline's and BPF's, and the out-of-tree kernel's.
_SCHEDULERS = {
    "default": "default", "bpf_rr": "roundrobin", "bpf_red": "redundant", "bpf_minrtt": "minrtt",
    "roundrobin": "roundrobin", "redundant": "redundant", "blest": "blest", "ecf": "ecf", "minrtt": "minrtt",
}  # fmt: skip
_OLD_DEFAULT = "minrtt_v09"
_KEY = re.compile(r"net(?:[./][A-Za-z0-9_*-]{1,40}){1,8}")


def set_sysctl(world: World, node: ImportedNode, key: str, value: str, origin: Origin) -> None:
    """Take one setting; settings that no node of the lab has are noted."""
    key, value = key.replace("/", "."), " ".join(value.split())
    text, place = f"{key} = {value}", str(origin)
    if not _KEY.fullmatch(key) or len(value) > 60:
        world.skip(origin, text, "it is not a setting of the network")
    elif key in ("net.ipv4.ip_forward", "net.ipv4.conf.all.forwarding", "net.ipv6.conf.all.forwarding"):
        node.forwards = node.forwards or value == "1"
        world.replace("forwarding of routers", origin)
    elif key in ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"):
        sizes = value.split()
        if len(sizes) == 3 and all(size.isdigit() and 0 < int(size) < 2**31 for size in sizes):
            node.transport[key.rpartition(".")[2]] = CommentedValue([str(Size(int(size))) for size in sizes], place)
        else:
            world.skip(origin, text, "it does not have three sizes")
    elif key == "net.ipv4.tcp_congestion_control":
        set_control(world, node, value, origin)
    elif key in ("net.mptcp.scheduler", f"{_OLD}scheduler"):
        set_scheduler(world, node, value, origin, is_old=key.startswith(_OLD))
    elif key in ("net.mptcp.enabled", f"{_OLD}enabled"):
        if value == "0":
            node.transport["protocol"] = CommentedValue("tcp", f"{place}: {text}")
        else:
            world.replace("net.mptcp.enabled", origin)
    elif key == f"{_OLD}path_manager" and value == "fullmesh":
        node.transport["endpoints"] = CommentedValue("fullmesh", f"{place}: {text}")
    elif key == f"{_OLD}checksum" and value in ("0", "1"):
        node.sysctl["net.mptcp.checksum_enabled"] = CommentedValue(int(value), place)
    elif key == "net.mptcp.pm_type" and value == "0":
        world.replace("the kernel's path manager", origin)
    elif "rp_filter" in key:
        world.replace("rp_filter (nodes accept packets by any interface)", origin)
    elif key in _SETTINGS:
        node.sysctl[key] = CommentedValue(int(value) if value.isdigit() and len(value) < 10 else value, place)
    else:
        world.skip(origin, text, "the lab's nodes do not have this setting each for themselves")


def set_control(world: World, node: ImportedNode, name: str, origin: Origin) -> None:
    """Take the congestion control of a node."""
    if name in _CONTROLS:
        node.transport["congestion_control"] = CommentedValue(name, str(origin))
    else:
        world.skip(origin, f"congestion control {name}", "the lab's kernel does not have it")


def set_scheduler(world: World, node: ImportedNode, name: str, origin: Origin, *, is_old: bool) -> None:
    """Take the scheduler of a node; the default of the out-of-tree kernel is one of its own."""
    if is_old and name == "default":
        about = f"{origin}: the default of the out-of-tree kernel, lowest round-trip time first"
        node.transport["scheduler"] = CommentedValue(_OLD_DEFAULT, about)
    elif name in _SCHEDULERS:
        node.transport["scheduler"] = CommentedValue(
            _SCHEDULERS[name], f"{origin}: {name}" if name != _SCHEDULERS[name] else str(origin)
        )
    else:
        world.skip(origin, f"scheduler {name}", "the lab's kernel does not have it")
