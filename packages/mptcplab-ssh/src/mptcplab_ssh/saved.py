# SPDX-License-Identifier: MIT
"""What an interface has besides its name, and the commands that give it back.

An interface loses its addresses, its routes and its settings when it moves to another network namespace. Its offloads,
its MTU and the sizes of aggregates move with it, so that the plan changes them. What this module cannot give back is
refused before anything is changed.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from mptcplab.errors import InputError

_FOREVER = 4294967295
_SIZES = ("gso_max_size", "gso_max_segs", "gso_ipv4_max_size")
_LIFETIMES = {"valid_life_time": "valid_lft", "preferred_life_time": "preferred_lft"}
_ADDRESS_FLAGS = ("nodad", "home", "mngtmpaddr", "noprefixroute", "autojoin")
#: Values of a route, in the order of `ip route add` as commands have it, and their words there.
_ROUTE_VALUES = {"dev": "dev", "table": "table", "protocol": "protocol", "prefsrc": "src", "metric": "metric"}
_UNICAST = "unicast"
#: Keys of `ip -j route` that are put back, and keys that only describe the moment.
_ROUTE_KEYS = {"type", "dst", "gateway", "via", "dev", "table", "protocol", "scope", "prefsrc", "metric", "pref"}
_ROUTE_STATE = {"flags", "cache", "users", "age", "expires", "error", "used"}
_ROUTE_FLAGS = {"onlink"}
#: States of a feature that can be changed; a feature that is off for want of another comes back with it.
_STATES = ("on", "off", "off [requested on]", "on [requested off]")
#: Routes that the kernel adds with an address, or learns again from routers.
_AUTOMATIC = ("kernel", "ra", "redirect")


@dataclass(frozen=True)
class SavedAddress:
    """An address of an interface, an entry of `ip -j -d address show`. What it does not have is None.

    ``lifetimes`` are in seconds, by the words of `ip address`, without endless ones. ``flags`` are such words, too.
    """

    family: str
    local: str
    prefix_length: int
    scope: str
    peer: str | None
    broadcast: str | None
    label: str | None
    metric: int | None
    lifetimes: Mapping[str, int]
    flags: tuple[str, ...]
    is_temporary: bool

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> SavedAddress:
        """Return the address. :raises KeyError: if the entry lacks what every address has."""
        return cls(
            family=entry["family"],
            local=entry["local"],
            prefix_length=entry["prefixlen"],
            scope=entry["scope"],
            peer=entry.get("address"),
            broadcast=entry.get("broadcast"),
            label=entry.get("label"),
            metric=entry.get("metric"),
            lifetimes={name: entry[key] for key, name in _LIFETIMES.items() if entry.get(key, _FOREVER) != _FOREVER},
            flags=tuple(flag for flag in _ADDRESS_FLAGS if entry.get(flag)),
            is_temporary=bool(entry.get("temporary")),
        )

    def command(self, device: str) -> list[str]:
        """Return the command that gives it back to ``device``."""
        ends = [self.local, "peer", self.peer] if self.peer is not None else [self.local]
        words = ["ip", "address", "replace", *ends[:-1], f"{ends[-1]}/{self.prefix_length}"]
        words += ["broadcast", self.broadcast] if self.broadcast is not None else []
        words += ["scope", self.scope]
        words += ["label", self.label] if self.label not in (None, device) else []
        words += ["metric", str(self.metric)] if self.metric is not None else []
        words += ["dev", device]
        return [*words, *(word for name, value in self.lifetimes.items() for word in (name, str(value))), *self.flags]


@dataclass(frozen=True)
class SavedRoute:
    """A route of a node, an entry of `ip -j route show table all`. What it does not have is None or empty.

    ``words`` follow the gateway in `ip route add`. ``devices`` are all that it leads through.
    ``unknown`` names what cannot be put back.
    """

    family: str
    kind: str
    destination: str
    gateway: tuple[str, ...]
    words: tuple[str, ...]
    devices: frozenset[str]
    source: str | None
    protocol: str | None
    unknown: tuple[str, ...]

    @classmethod
    def from_json(cls, family: str, entry: Mapping[str, Any]) -> SavedRoute:
        """Return the route of ``family``, which the entry does not name. :raises KeyError: if it has no destination."""
        via = entry.get("via")
        gateway = [str(via["family"]), str(via["host"])] if via is not None else []
        gateway += [str(entry["gateway"])] if "gateway" in entry else []
        names = _ROUTE_VALUES | ({"scope": "scope"} if family == "inet" else {}) | {"pref": "pref"}
        words = [word for key, name in names.items() if key in entry for word in (name, str(entry[key]))]
        return cls(
            family=family,
            kind=entry.get("type", _UNICAST),
            destination=entry["dst"],
            gateway=tuple(gateway),
            words=(*words, *(flag for flag in entry.get("flags", ()) if flag in _ROUTE_FLAGS)),
            devices=frozenset(str(hop["dev"]) for hop in (entry, *entry.get("nexthops", ())) if "dev" in hop),
            source=entry.get("prefsrc"),
            protocol=entry.get("protocol"),
            unknown=tuple(sorted(set(entry) - _ROUTE_KEYS - _ROUTE_STATE)),
        )

    def command(self) -> list[str]:
        """Return the command that adds it."""
        words = ["ip", "-6" if self.family == "inet6" else "-4", "route", "add"]
        words += [] if self.kind == _UNICAST else [self.kind]
        words += [self.destination, *(["via", *self.gateway] if self.gateway else []), *self.words]
        return words


@dataclass(frozen=True)
class SavedNeighbour:
    """A permanent neighbour of an interface: its address, and its link-layer address."""

    address: str
    link_address: str


@dataclass(frozen=True)
class InterfaceState:
    """The state of one interface as the node's programs print it: see `survey.sh`.

    ``sizes`` has the largest sizes of aggregates by the names of `ip link`, ``routes`` all routes of the node,
    ``features`` the output of `ethtool -k`, ``settings`` the values by the paths of their files.
    """

    device: str
    mtu: int
    is_up: bool
    sizes: Mapping[str, int]
    addresses: Sequence[SavedAddress]
    routes: Sequence[SavedRoute]
    neighbours: Sequence[SavedNeighbour]
    features: str
    settings: Mapping[str, str]

    def commands(self) -> list[str]:
        """Return shell commands that give back everything, in order.

        `r` and `a` in front are functions of `keeper.sh`, which log a failure and go on.

        :raises InputError: naming what cannot be given back.
        """
        lines = [_line("r", "ip", "link", "set", "dev", self.device, "mtu", str(self.mtu))]
        if self.sizes:
            words = [word for name, size in self.sizes.items() for word in (name, str(size))]
            lines.append(_line("r", "ip", "link", "set", "dev", self.device, *words))
        lines += _block("settings", self.device, [f"{path}:{value}" for path, value in self.settings.items()])
        lines += _block("features", self.device, _features(self.features))
        if self.is_up:
            lines.append(_line("r", "ip", "link", "set", "dev", self.device, "up"))
        lines += [_line("r", *address.command(self.device)) for address in self._lost_addresses()]
        lines += [_line("a", *route.command()) for route in self._lost_routes()]
        for neighbour in self.neighbours:
            words = ["ip", "neighbour", "replace", neighbour.address, "lladdr", neighbour.link_address]
            lines.append(_line("r", *words, "dev", self.device, "nud", "permanent"))
        return lines

    def _lost_addresses(self) -> Iterator[SavedAddress]:
        """Yield the addresses that the kernel does not make itself."""
        # A mode other than 1 makes the address of the link itself again.
        makes_own = self.settings.get(f"/proc/sys/net/ipv6/conf/{self.device}/addr_gen_mode") != "1"
        for address in self.addresses:
            is_own = makes_own and (address.family, address.scope) == ("inet6", "link")
            if not (address.is_temporary or is_own):
                yield address

    def _lost_routes(self) -> list[SavedRoute]:
        """Return the routes that the kernel does not add itself; those through gateways last, which others lead to."""
        sources = {address.local for address in self.addresses}
        routes = []
        for route in self.routes:
            # The kernel also removes another interface's routes whose source was this one's address.
            if self.device not in route.devices and route.source not in sources:
                continue
            if route.protocol in _AUTOMATIC:
                continue
            if route.unknown:
                text = f"a route to {route.destination} with {', '.join(route.unknown)}"
                raise _restore_error(self.device, text, "remove the route meanwhile, or use another interface")
            routes.append(route)
        return sorted(routes, key=lambda route: bool(route.gateway))


def _block(function: str, device: str, lines: Iterable[str]) -> list[str]:
    """Return the call of a function of `keeper.sh` with ``lines`` as its input; nothing without any."""
    texts = list(lines)
    return ["\n".join([f"{_line(function, device)} <<'END'", *texts, "END"])] if texts else []


def _features(text: str) -> Iterator[str]:
    """Yield the lines of features that can be changed: each feature of a group, not the group."""
    lines = [line for line in text.splitlines() if ":" in line and not line.startswith("Features")]
    for line, later in pairwise([*lines, ""]):
        state = line.strip().partition(": ")[2]
        is_group = not line.startswith("\t") and later.startswith("\t")
        if not is_group and state in _STATES:
            yield line


def _line(*words: str) -> str:
    return shlex.join(words)


def _restore_error(device: str, text: str, hint: str) -> InputError:
    return InputError(f"the interface {device} has {text}, which could not be put back", hint=hint)


def parse_saved(device: str, sections: Mapping[str, str]) -> InterfaceState:
    """Return the state of ``device`` from what `survey.sh` printed."""
    routes = [
        SavedRoute.from_json(family, entry)
        for family, section in (("inet", "routes4"), ("inet6", "routes6"))
        for entry in json.loads(sections[section] or "[]")
    ]
    interface = next(entry for entry in json.loads(sections[f"address {device}"]) if entry.get("ifname"))
    neighbours = json.loads(sections[f"neighbours {device}"] or "[]")
    settings = (line.partition(":") for line in sections[f"settings {device}"].splitlines())
    return InterfaceState(
        device,
        mtu=interface["mtu"],
        is_up="UP" in interface["flags"],
        sizes={name: interface[name] for name in _SIZES if name in interface},
        addresses=[SavedAddress.from_json(entry) for entry in interface.get("addr_info", ()) if entry],
        routes=routes,
        neighbours=[SavedNeighbour(entry["dst"], entry["lladdr"]) for entry in neighbours],
        features=sections[f"features {device}"],
        settings={path: value for path, _, value in settings},
    )


def check_movable(device: str, sections: Mapping[str, str], *, user: str, connected: str) -> None:
    """Check that ``device`` may be taken and can be given back; ``user`` names it for messages.

    ``connected`` is the interface by which the machine answers our connection.
    :raises InputError: saying why not.
    """
    (address,) = (entry for entry in json.loads(sections[f"address {device}"]) if entry.get("ifname"))
    kept = sections[f"sysfs {device}"].split()
    uppers = [name.removeprefix("upper_") for name in kept if name.startswith("upper_")]
    if device == connected:
        message = f"{user} carries the ssh connection itself"
        raise InputError(message, hint="use another interface: a run takes it away from the machine's own network")
    if "master" in address:
        message = f"{user} is a port of {address['master']}"
        raise InputError(message, hint=f"take it out first: ip link set dev {device} nomaster")
    if uppers:
        hint = "name these instead, or remove them meanwhile"
        raise InputError(f"{user} carries other interfaces: {', '.join(uppers)}", hint=hint)
    if "wireless" in kept or "phy80211" in kept:
        message = f"{user} is a radio, which only moves to another namespace together with its device"
        raise InputError(message, hint="use a wired interface, or route from the radio's network to one")
    if "netns-local: on" in sections[f"features {device}"]:
        raise InputError(
            f"the interface {user} cannot be moved to another namespace", hint="use a physical or a VLAN interface"
        )
    items = [entry["kind"] for entry in json.loads(sections[f"qdiscs {device}"] or "[]") if entry["handle"] != "0:"]
    if items:
        message = f"{user} has queueing disciplines of its own ({', '.join(items)}), which could not be put back"
        raise InputError(message, hint=f"remove them meanwhile: tc qdisc delete dev {device} root")
