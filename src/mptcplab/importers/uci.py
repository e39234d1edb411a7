# SPDX-License-Identifier: MIT
"""OpenWrt's and OpenMPTCProuter's settings: files of ``/etc/config``, or what ``uci show`` prints.

The router becomes the client: its uplinks are the interfaces with ``option multipath`` (or with a gateway or DHCP), and
what is behind it is left out. ``sqm`` has the rates of uplinks, as do ``uploadspeed`` and ``downloadspeed`` of
OpenMPTCProuter.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field

from mptcplab.importers.commands import read_interface
from mptcplab.importers.qdiscs import read_count
from mptcplab.importers.world import Device, Origin, Shape, World, set_control, set_scheduler, set_sysctl
from mptcplab.scenario.writing import CommentedValue
from mptcplab.units import Rate, Size

_SHOWN = re.compile(
    r"(?P<config>[a-z][\w-]{0,30})\.(?P<section>@?[\w-]{1,40}(?:\[-?\d{1,3}\])?)(?:\.(?P<option>\w{1,40}))?=(?P<value>.*)"
)
_CONFIG = re.compile(r"\s*(?P<word>config|option|list)\s+(?P<rest>\S.*)$")
_CLIENT, _SERVER = "router", "vps"
_ON = ("on", "master", "backup", "handover")
_LAN = ("lan", "loopback", "guest", "docker")
_SETTINGS = {
    **{
        f"tcp_{name}": f"net.ipv4.tcp_{name}"
        for name in ("ecn", "fastopen", "syn_retries", "timestamps", "no_metrics_save", "fin_timeout")
    },
    "mptcp_checksum": "net.mptcp.checksum_enabled",
    "mptcp_stale_loss_cnt": "net.mptcp.stale_loss_cnt",
    "mptcp_add_addr_timeout": "net.mptcp.add_addr_timeout",
}
#: Options of an interface that are taken, or do not matter to a path.
_USED = frozenset((
     "multipath", "device", "ifname", "ipaddr", "netmask", "mtu", "uploadspeed", "downloadspeed", "proto",
     "gateway", "metric", "ip4table", "ip6assign", "defaultroute", "peerdns", "dns", "type", "label", "enabled",
     "auto",
))  # fmt: skip


@dataclass
class _Section:
    """One section with its options."""

    config: str
    type: str
    name: str
    origin: Origin
    options: dict[str, tuple[str, Origin]] = field(default_factory=dict)

    def get(self, *names: str) -> str:
        """Return the first option that is there, empty if none is."""
        return next((self.options[name][0] for name in names if name in self.options), "")


def is_uci(text: str) -> bool:
    """Return whether a text is a UCI file, or an output of ``uci show``."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")][:5]
    shown = sum(_SHOWN.match(line.removeprefix("uci set ").strip()) is not None for line in lines)
    return bool(lines) and (lines[0].split()[0] in ("config", "package") or shown == len(lines))


def read_uci(world: World, texts: dict[str, str]) -> None:
    """Take all files of one router."""
    sections = _merge([section for file, text in texts.items() for section in _read_sections(world, file, text)])
    router = world.node(_CLIENT)
    uplinks: dict[str, Device] = {}
    for section in sections:
        if section.type == "globals" or section.name == "globals":
            _take_globals(world, section)
        elif section.type == "interface" and section.config != "dhcp":
            _take_interface(world, section, uplinks)
        elif section.type != "queue":
            _skip(world, section, "the lab has no such section")
    for section in sections:
        if section.type == "queue":
            _take_queue(world, section, uplinks)
    for device in uplinks.values():
        device.is_path = True
    if uplinks:
        world.assume(f"the router, called {router.name}, opens the connections itself: what is behind it is left out")


def _read_sections(world: World, file: str, text: str) -> list[_Section]:
    sections: list[_Section] = []
    known: dict[tuple[str, str], _Section] = {}
    package = re.sub(r"\W", "", file.rpartition("/")[2].partition(".")[0])
    for number, raw in enumerate(text.splitlines(), start=1):
        line, origin = raw.removeprefix("uci set ").strip(), Origin(file, number)
        if not line or line.startswith(("#", "package ")) or line in ("uci commit", "EOF"):
            continue
        shown, written = _SHOWN.fullmatch(line), _CONFIG.fullmatch(raw)
        if len(sections) > 500:
            break
        if written is not None:
            _take_line(world, sections, package, written["word"], written["rest"], origin)
        elif shown is not None:
            key = (shown["config"], shown["section"])
            value = shown["value"].strip().strip("'\"")
            if shown["option"] is None:
                known[key] = _Section(shown["config"], value, shown["section"], origin)
                sections.append(known[key])
            else:
                if key not in known:
                    known[key] = _Section(
                        *key[:1], "interface" if key[0] in ("network", "openmptcprouter") else "queue", key[1], origin
                    )
                    sections.append(known[key])
                known[key].options.setdefault(shown["option"], (value, origin))
        else:
            world.skip(origin, raw, "it is not a line of UCI")
    return sections


def _take_line(world: World, sections: list[_Section], package: str, word: str, rest: str, origin: Origin) -> None:
    try:
        words = shlex.split(rest, comments=True)
    except ValueError:
        words = []
    if word == "config" and words:
        sections.append(_Section(package, words[0], words[1] if len(words) > 1 else words[0], origin))
    elif len(words) == 2 and sections:
        sections[-1].options.setdefault(words[0], (words[1], origin))
    else:
        world.skip(origin, f"{word} {rest}", "it is not a line of UCI")


def _merge(sections: list[_Section]) -> list[_Section]:
    """Return sections, with the sections of one interface in ``network`` and ``openmptcprouter`` merged."""
    merged: dict[tuple[str, str], _Section] = {}
    for section in sections:
        key = (section.type, section.name if section.type == "interface" else f"{section.name} {section.origin}")
        if key in merged:
            merged[key].options = section.options | merged[key].options
        else:
            merged[key] = section
    return list(merged.values())


def _skip(world: World, section: _Section, reason: str) -> None:
    world.skip(section.origin, f"config {section.type} '{section.name}'", reason)


def _take_interface(world: World, section: _Section, uplinks: dict[str, Device]) -> None:
    multipath, protocol = section.get("multipath"), section.get("proto")
    name = section.get("device", "ifname") or section.name
    if (
        multipath == "off"
        or section.name in _LAN
        or not (multipath in _ON or section.get("gateway") or protocol not in ("", "static", "none"))
    ):
        _skip(world, section, "it is not an uplink of MPTCP")
        return
    device = world.device(_CLIENT, section.name)
    uplinks[section.name] = uplinks[name] = device
    device.at_sender = False
    mask = section.get("netmask")
    address = section.get("ipaddr")
    text = address if "/" in address or not mask else f"{address}/{mask}"
    interface = read_interface(text) if address else None
    if interface is not None:
        device.addresses.append((interface, section.options["ipaddr"][1]))
    device.is_backup = multipath in ("backup", "handover")
    if multipath == "handover":
        world.assume(f"{section.options['multipath'][1]}: handover is taken as backup")
    mtu = read_count(section.get("mtu"))
    if mtu is not None and 576 <= mtu <= 9000 and mtu != 1500:
        device.mtu = CommentedValue(str(Size(mtu)), str(section.options["mtu"][1]))
    up, down = section.get("uploadspeed"), section.get("downloadspeed")
    _take_rates(world, section, device, up, down, ("uploadspeed", "downloadspeed"))
    for option, (value, origin) in section.options.items():
        if option not in _USED:
            world.skip(origin, f"option {option} '{value}'", "the lab has no such option")


def _take_rates(world: World, section: _Section, device: Device, up: str, down: str, names: tuple[str, str]) -> None:
    """Take rates in kbit/s: ``up`` is what the router sends, ``down`` what it gets."""
    incoming = f"in-{device.name}"
    for text, name, target in ((up, names[0], device.name), (down, names[1], incoming)):
        number = read_count(text)
        if not number:
            continue
        rate = Rate(number * 1000)
        if rate > 10**11:
            world.skip(section.options[name][1], f"option {name} '{text}'", "the rate is not possible")
            continue
        end = world.device(_CLIENT, target)
        end.shape["rate"] = CommentedValue(str(rate), f"{section.options[name][1]}: kbit/s")
        if target == incoming:
            end.kind, device.redirect = "ifb", incoming


def _take_queue(world: World, section: _Section, uplinks: dict[str, Device]) -> None:
    device = uplinks.get(section.get("interface"))
    if device is None or section.get("enabled") == "0":
        _skip(world, section, "its interface is not an uplink, or it is disabled")
        return
    _take_rates(world, section, device, section.get("upload"), section.get("download"), ("upload", "download"))
    kind = section.get("qdisc")
    if kind in ("cake", "fq_codel"):
        for name in (device.name, f"in-{device.name}"):
            shape: Shape = world.devices[_CLIENT, name].shape if (_CLIENT, name) in world.devices else {}
            if "rate" in shape:
                shape["discipline"] = CommentedValue(kind, str(section.options["qdisc"][1]))


def _take_globals(world: World, section: _Section) -> None:
    router = world.node(_CLIENT)
    for option, (value, origin) in section.options.items():
        if option == "mptcp_scheduler":
            set_scheduler(world, router, value, origin, is_old=False)
        elif option in ("congestion", "mptcp_congestion"):
            set_control(world, router, value, origin)
        elif option == "mptcp_path_manager" and value == "fullmesh":
            router.transport["endpoints"] = CommentedValue("fullmesh", str(origin))
        elif option in ("multipath", "mptcp_enabled"):
            if value in ("disable", "0"):
                router.transport["protocol"] = CommentedValue("tcp", str(origin))
        elif option in ("mptcp_subflows", "mptcp_add_addr_accepted"):
            count = read_count(value)
            if count is not None and count <= 8:
                router.limits[option.removeprefix("mptcp_")] = CommentedValue(count, str(origin))
        elif option in ("ula_prefix", "packet_steering"):
            world.replace("settings of the router that no path depends on", origin)
        elif option in _SETTINGS:
            set_sysctl(world, router, _SETTINGS[option], value, origin)
        else:
            world.skip(origin, f"option {option} '{value}'", "the lab has no such option")
