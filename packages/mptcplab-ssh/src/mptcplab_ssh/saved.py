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
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from mptcplab.errors import InputError

_FOREVER = 4294967295
_SIZES = ("gso_max_size", "gso_max_segs", "gso_ipv4_max_size")
#: Keys of `ip -j route` that are put back, and keys that only describe the moment.
_ROUTE_KEYS = {"type", "dst", "gateway", "via", "dev", "table", "protocol", "scope", "prefsrc", "metric", "pref"}
_ROUTE_STATE = {"flags", "cache", "users", "age", "expires", "error", "used"}
_ROUTE_FLAGS = {"onlink"}
#: States of a feature that can be changed; a feature that is off for want of another comes back with it.
_STATES = ("on", "off", "off [requested on]", "on [requested off]")
#: Routes that the kernel adds with an address, or learns again from routers.
_AUTOMATIC = ("kernel", "ra", "redirect")


@dataclass(frozen=True)
class InterfaceState:
    """The state of one interface as the node's programs print it: see `survey.sh`.

    ``address`` is of `ip -j -d address show`, ``routes`` of `ip -4` and `ip -6 -j route show table all`, ``neighbours``
    of `ip -j neighbour show nud permanent`, ``features`` of `ethtool -k`, ``settings`` by the paths of their files.
    """

    device: str
    address: Mapping[str, Any]
    routes: Sequence[Mapping[str, Any]] = ()
    neighbours: Sequence[Mapping[str, Any]] = ()
    features: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_up(self) -> bool:
        """Whether it is set up."""
        return "UP" in self.address["flags"]

    def commands(self) -> list[str]:
        """Return shell commands that give back everything, in order; `r` in front logs a failure and goes on.

        :raises InputError: naming what cannot be given back.
        """
        lines = [_line("r", "ip", "link", "set", "dev", self.device, "mtu", str(self.address["mtu"]))]
        sizes = [word for key in _SIZES if key in self.address for word in (key, str(self.address[key]))]
        if sizes:
            lines.append(_line("r", "ip", "link", "set", "dev", self.device, *sizes))
        lines += _block("settings", self.device, [f"{path}:{value}" for path, value in self.settings.items()])
        lines += _block("features", self.device, _features(self.features))
        if self.is_up:
            lines.append(_line("r", "ip", "link", "set", "dev", self.device, "up"))
        lines += [_line("r", *words) for words in self._addresses()]
        lines += [_line("a", *words) for words in self._routes()]
        lines += [_line("r", *words) for words in self._neighbours()]
        return lines

    def _addresses(self) -> Iterator[list[str]]:
        # A mode other than 1 makes the address of the link itself again.
        makes_own = self.settings.get(f"/proc/sys/net/ipv6/conf/{self.device}/addr_gen_mode") != "1"
        for entry in self.address.get("addr_info", ()):
            if (
                not entry
                or entry.get("temporary")
                or (entry["family"] == "inet6" and entry["scope"] == "link" and makes_own)
            ):
                continue
            words = ["ip", "address", "replace"]
            if "address" in entry:
                words += [str(entry["local"]), "peer", f"{entry['address']}/{entry['prefixlen']}"]
            else:
                words.append(f"{entry['local']}/{entry['prefixlen']}")
            words += ["broadcast", entry["broadcast"]] if "broadcast" in entry else []
            words += ["scope", str(entry["scope"])]
            words += ["label", entry["label"]] if entry.get("label", self.device) != self.device else []
            words += ["metric", str(entry["metric"])] if "metric" in entry else []
            words += ["dev", self.device]
            for key, name in (("valid_life_time", "valid_lft"), ("preferred_life_time", "preferred_lft")):
                if entry.get(key, _FOREVER) != _FOREVER:
                    words += [name, str(entry[key])]
            yield words + [
                flag for flag in ("nodad", "home", "mngtmpaddr", "noprefixroute", "autojoin") if entry.get(flag)
            ]

    def _routes(self) -> Iterator[list[str]]:
        addresses = {str(entry["local"]) for entry in self.address.get("addr_info", ()) if entry}
        routes = []
        for route in self.routes:
            through = [str(hop.get("dev")) for hop in route.get("nexthops", ())]
            # The kernel also removes another interface's routes whose source was this one's address.
            if self.device not in (route.get("dev"), *through) and route.get("prefsrc") not in addresses:
                continue
            if route.get("protocol") in _AUTOMATIC:
                continue
            unknown = sorted(set(route) - _ROUTE_KEYS - _ROUTE_STATE - {"family"})
            if unknown:
                text = f"a route to {route['dst']} with {', '.join(unknown)}"
                raise _restore_error(self.device, text, "remove the route meanwhile, or use another interface")
            routes.append(route)
        for route in sorted(routes, key=lambda entry: "gateway" in entry or "via" in entry):
            yield _route(route)

    def _neighbours(self) -> Iterator[list[str]]:
        for neighbour in self.neighbours:
            words = ["ip", "neighbour", "replace", neighbour["dst"], "lladdr", neighbour["lladdr"], "dev", self.device]
            yield [*words, "nud", "permanent"]


def _route(route: Mapping[str, Any]) -> list[str]:
    words = ["ip", "-6" if route["family"] == "inet6" else "-4", "route", "add"]
    words += [] if route.get("type", "unicast") == "unicast" else [str(route["type"])]
    words.append(str(route["dst"]))
    if "via" in route:
        words += ["via", str(route["via"]["family"]), str(route["via"]["host"])]
    if "gateway" in route:
        words += ["via", str(route["gateway"])]
    names = {"dev": "dev", "table": "table", "protocol": "protocol", "prefsrc": "src", "metric": "metric"}
    words += [word for key, name in names.items() if key in route for word in (name, str(route[key]))]
    if route["family"] == "inet" and "scope" in route:
        words += ["scope", str(route["scope"])]
    if "pref" in route:
        words += ["pref", str(route["pref"])]
    return words + [flag for flag in route.get("flags", ()) if flag in _ROUTE_FLAGS]


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
    routes = []
    for family, name in (("inet", "routes4"), ("inet6", "routes6")):
        routes += [{"family": family, **route} for route in json.loads(sections[name] or "[]")]
    settings = (line.partition(":") for line in sections[f"settings {device}"].splitlines())
    addresses = [entry for entry in json.loads(sections[f"address {device}"]) if entry.get("ifname")]
    return InterfaceState(
        device,
        addresses[0],
        routes,
        json.loads(sections[f"neighbours {device}"] or "[]"),
        sections[f"features {device}"],
        {path: value for path, _, value in settings},
    )


def check_movable(device: str, sections: Mapping[str, str], *, user: str, way: str) -> None:
    """Check that ``device`` may be taken and can be given back; ``user`` names it for messages.

    ``way`` is the interface by which the machine answers our connection.
    :raises InputError: saying why not.
    """
    (address,) = (entry for entry in json.loads(sections[f"address {device}"]) if entry.get("ifname"))
    kept = sections[f"sysfs {device}"].split()
    uppers = [name.removeprefix("upper_") for name in kept if name.startswith("upper_")]
    if device == way:
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
