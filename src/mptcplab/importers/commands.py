# SPDX-License-Identifier: MIT
"""Commands that configure a network (``ip``, ``tc``, ``sysctl``), and programs that transfer data.

A command belongs to a network namespace: ``ip netns exec NS COMMAND``, ``ip -n NS``, ``ip netns exec`` in a variable,
or the machine itself. Before the first transfer, commands describe the network; after it, ``sleep`` moves the time, and
what changes then becomes an event.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Sequence
from typing import Any

from mptcplab.importers.qdiscs import read_count, read_shape
from mptcplab.importers.shell import ShellLine, read_commands
from mptcplab.importers.world import (
    Address,
    Device,
    EndpointLine,
    ImportedDiscipline,
    ImportedTransfer,
    Interface,
    TimedChange,
    World,
    set_sysctl,
)
from mptcplab.scenario.writing import CommentedValue
from mptcplab.units import Duration, Size

_FLAGS = ("signal", "subflow", "backup", "fullmesh")
_PREFIXES = ("sudo", "nohup", "exec", "env", "taskset", "nice", "stdbuf", "timeout")
_VERBS = {"add", "replace", "change", "del", "delete", "set", "append", "show", "flush", "list", "link"}
_OBJECTS = {"link": "link", "address": "address", "route": "route", "rule": "rule", "netns": "netns", "mptcp": "mptcp",
            "neighbour": "neigh", "neighbor": "neigh"}  # fmt: skip
_CHANGEABLE = ("rate", "delay", "jitter", "loss")
#: Commands that change nothing of what a scenario describes.
_HARMLESS = frozenset((
    "echo", "printf", "set", "trap", "cd", "mkdir", "rm", "cat", "ls", "wait", "kill", "killall", "pkill",
    "modprobe", "true", "tcpdump", "tshark", "ss", "nstat", "ping", "ping6", "cleanup", "export", "exit",
    "return", "which", "dmesg", "chmod", "touch", "cp", "mv", "local", "readonly", "shift", "ethtool", "date",
    "uname", "read", "source", ".", "pwd", "tee", "head", "tail", "fi", "esac", "test", "[", "dd", "netstat",
    "apt", "apt-get", "make", "lsmod",
))  # fmt: skip
_CLIENTS = ("iperf3", "iperf", "curl", "wget", "nc", "ncat", "netperf", "mptcp_connect")
_MIN_MTU, _MAX_MTU = 576, 9000


def read_script(world: World, file: str, text: str, machine: str, first_line: int = 1) -> int:
    """Take the commands of a script that runs on ``machine``; return how many were understood."""
    taken = 0
    for line in read_commands(file, text, first_line):
        taken += take_command(world, line, machine)
    return taken


def take_command(world: World, line: ShellLine, node: str) -> bool:
    """Take one command; False if it neither configures a network nor transfers data."""
    words = _without_prefixes(list(line.words))
    while words:
        inner = _in_namespace(words)
        if inner is None:
            break
        node, words = inner[0], _without_prefixes(inner[1])
    if not words:
        return True
    name = words[0].rpartition("/")[2]
    if name in ("bash", "sh", "ash") and "-c" in words[:-1]:
        script = words[words.index("-c") + 1]
        return bool(read_script(world, line.origin.file, script, node, line.origin.line))
    known: dict[str, Callable[[World, ShellLine, str, list[str]], bool]] = {
        "ip": _take_ip,
        "tc": _take_tc,
        "sysctl": _take_sysctl,
        "ifconfig": _take_ifconfig,
        "route": _take_route,
        "sleep": _take_sleep,
        "echo": _take_echo,
    }
    mptcpize = name == "mptcpize" and len(words) > 2
    if mptcpize:
        words = [word for word in words[2:] if word != "-d"]
        name = words[0].rpartition("/")[2] if words else ""
    if name in known:
        if line.is_open:
            world.skip(line.origin, line.text, "a value is only known when a shell runs it")
            return name in ("ip", "tc")
        return known[name](world, line, node, words[1:])
    if name in _CLIENTS:
        return _take_client(world, line, node, [name, *words[1:]])
    if name not in _HARMLESS:
        world.skip(line.origin, line.text, "this command is not known")
    return False


def _without_prefixes(words: list[str]) -> list[str]:
    """Return a command without programs that only start another one."""
    while words and words[0].rpartition("/")[2] in _PREFIXES:
        dropped = words.pop(0).rpartition("/")[2]
        while words and (
            words[0].startswith("-") or (dropped in ("timeout", "taskset") and re.match(r"[\d.]", words[0]))
        ):
            option = words.pop(0)
            if dropped == "nice" and option == "-n" and words:
                words.pop(0)
        while words and dropped == "env" and "=" in words[0]:
            words.pop(0)
    return words


def _in_namespace(words: list[str]) -> tuple[str, list[str]] | None:
    """Return the namespace of a command, and the command in it; None if it has none."""
    if words[0] != "ip":
        return (words[2], words[3:]) if words[:2] == ["nsenter", "-n"] and len(words) > 3 else None
    for index, word in enumerate(words[1:4], start=1):
        if word in ("-n", "-net", "-netns") and len(words) > index + 2:
            return words[index + 1], ["ip", *words[1:index], *words[index + 2 :]]
        if word == "netns" and words[index + 1 : index + 2] == ["exec"] and len(words) > index + 3:
            return words[index + 2], words[index + 3 :]
    return None


# -- ip


def _take_ip(world: World, line: ShellLine, node: str, words: list[str]) -> bool:
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in ("-f", "-family") else words[1:]
    if not words:
        return False
    kind = next((full for name, full in _OBJECTS.items() if name.startswith(words[0])), words[0])
    rest = words[1:]
    if kind == "link":
        return _take_link(world, line, node, rest)
    if kind == "address":
        return _take_address(world, line, node, rest)
    if kind == "mptcp":
        return _take_mptcp(world, line, node, rest)
    if kind == "netns":
        if rest[:1] in (["add"], ["a"]) and len(rest) > 1:
            world.node(rest[1])
        else:
            world.replace("namespaces", line.origin)
        return True
    if kind in ("route", "rule", "neigh"):
        if rest[:1] not in (["get"], ["show"], ["list"], []):
            world.replace(
                "routes, rules and neighbours (the lab computes its own: shortest paths, by source address)",
                line.origin,
            )
        return True
    world.skip(line.origin, line.text, "the lab has no such object")
    return True


def _value_after(words: Sequence[str], name: str) -> str | None:
    """Return the word after ``name``."""
    return words[words.index(name) + 1] if name in words[:-1] else None


def _take_two(words: list[str]) -> tuple[str, str, list[str]]:
    """Return the first two words, empty where there are none, and the others."""
    padded = [*words, "", ""]
    return padded[0], padded[1], words[2:]


def _take_link(world: World, line: ShellLine, node: str, words: list[str]) -> bool:
    verb, rest = (words[0], words[1:]) if words and words[0] in _VERBS else ("show", words)
    if verb in ("show", "list"):
        return True
    if verb in ("add", "replace"):
        return _add_link(world, line, node, rest)
    name = _value_after(rest, "dev") or next((word for word in rest if word != "dev"), "")
    if verb in ("del", "delete"):
        world.skip(line.origin, line.text, "an interface is removed; a scenario can only set a link down")
        return True
    return _set_link(world, line, node, name, rest)


def _add_link(world: World, line: ShellLine, node: str, words: list[str]) -> bool:
    kind = _value_after(words, "type") or ""
    before = words[: words.index("type")] if "type" in words else words
    name = _value_after(before, "name") or _value_after(before, "dev") or next(iter(before), "")
    place = _value_after(before, "netns") or node
    if kind == "veth":
        after = words[words.index("type") + 2 :]
        peer = _value_after(after, "name") or _value_after(after, "peer") or f"{name}-peer"
        first = world.device(place, name)
        second = world.device(_value_after(after, "netns") or node, peer)
        _set_mtu(world, line, first, _value_after(before, "mtu"))
        _set_mtu(world, line, second, _value_after(after, "mtu"))
        first.kind = second.kind = "veth"
        world.cables.append((first, second, line.origin))
        return True
    if kind == "bridge":
        world.device(place, name).kind = "bridge"
        return True
    if kind in ("ifb", "dummy"):
        world.device(place, name).kind = kind
        return True
    world.skip(line.origin, line.text, f"the lab has no links of type {kind}" if kind else "a link without a type")
    return True


def _set_mtu(world: World, line: ShellLine, device: Device, text: str | None) -> None:
    mtu = read_count(text or "")
    if mtu is None or mtu == 1500:
        return
    if _MIN_MTU <= mtu <= _MAX_MTU:
        device.mtu = CommentedValue(str(Size(mtu)), str(line.origin))
    else:
        world.skip(line.origin, line.text, "the MTU is not one of the lab's")


def _set_link(world: World, line: ShellLine, node: str, name: str, words: list[str]) -> bool:
    device = world.devices.get((node, name))
    place = _value_after(words, "netns")
    if device is None:
        if place is None and words:
            world.device(node, name)
        elif place is not None and not place.isdigit():
            world.device(place, name)
        return True
    if place is not None and (place, name) not in world.devices:
        world.move(device, place)
    _set_mtu(world, line, device, _value_after(words, "mtu"))
    master = _value_after(words, "master")
    if master is not None:
        device.master = master
        world.device(device.node, master).kind = "bridge"
    if "multipath" in words and "backup" in words:
        device.is_backup = True
    if world.now_s is not None and ("up" in words or "down" in words):
        keys: dict[str, Any] = {"type": "up"} if "up" in words else {"type": "down", "mode": "interface"}
        world.changes.append(TimedChange(world.now_s, node, name, keys, line.origin))
    elif "up" in words:
        world.replace("interfaces that are set up", line.origin)
    if "name" in words:
        world.skip(line.origin, line.text, "an interface gets another name")
    return True


def read_interface(text: str) -> Interface | None:
    """Return an address with its prefix length; None if it is none."""
    try:
        return ipaddress.ip_interface(text)
    except ValueError:
        return None


def read_address(text: str) -> Address | None:
    """Return an address; None if it is none."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _take_address(world: World, line: ShellLine, node: str, words: list[str]) -> bool:
    verb, rest = (words[0], words[1:]) if words else ("show", [])
    if verb not in ("add", "a", "replace", "del", "delete"):
        return True
    interface = next((entry for word in rest if (entry := read_interface(word)) is not None), None)
    name = _value_after(rest, "dev")
    if interface is None or name is None:
        world.skip(line.origin, line.text, "it has no address, or no interface")
        return True
    device = world.device(node, name)
    if verb in ("del", "delete"):
        kept = [(entry, origin) for entry, origin in device.addresses if entry.ip != interface.ip]
        if world.now_s is not None:
            world.changes.append(TimedChange(world.now_s, node, name, {"type": "address-removed"}, line.origin))
        else:
            device.addresses = kept
    elif world.now_s is not None and any(entry.ip == interface.ip for entry, _ in device.addresses):
        world.changes.append(TimedChange(world.now_s, node, name, {"type": "address-added"}, line.origin))
    elif device.kind != "lo" and name != "lo":
        device.addresses.append((interface, line.origin))
    return True


def _take_mptcp(world: World, line: ShellLine, node: str, words: list[str]) -> bool:
    world.is_configured = True
    kind, verb, rest = _take_two(words)
    owner = world.node(node)
    if "limits".startswith(kind) and kind:
        if verb == "set":
            keys = {
                "add_addr_accepted": _value_after(rest, "add_addr_accepted"),
                "subflows": _value_after(rest, "subflows") or _value_after(rest, "subflow"),
            }
            limits = {
                key: count for key, text in keys.items() if (count := read_count(text or "")) is not None and count <= 8
            }
            if world.now_s is not None and limits:
                world.changes.append(
                    TimedChange(world.now_s, node, "", {"type": "limits-changed", **limits}, line.origin)
                )
            else:
                owner.limits |= {key: CommentedValue(count, str(line.origin)) for key, count in limits.items()}
            if not limits:
                world.skip(line.origin, line.text, "it has no limits from 0 to 8")
        return True
    if not ("endpoint".startswith(kind) and kind):
        return True
    if verb == "flush" and world.now_s is None:
        owner.endpoints.clear()
    elif verb == "add":
        _add_endpoint(world, line, node, rest)
    elif verb in ("del", "delete", "change"):
        _change_endpoint(world, line, node, verb, rest)
    elif verb not in ("show", "", "list"):
        world.skip(line.origin, line.text, "the lab has no event for it")
    return True


def _add_endpoint(world: World, line: ShellLine, node: str, words: list[str]) -> None:
    address = next((entry for word in words if (entry := read_address(word)) is not None), None)
    flags = tuple(flag for flag in _FLAGS if flag in words)
    if address is None:
        world.skip(line.origin, line.text, "it has no address")
        return
    other = [word for word in words if word in ("laminar", "implicit")]
    if other:
        world.skip(line.origin, line.text, f"the lab has no flag {other[0]}: the endpoint is imported without it")
    port, number = read_count(_value_after(words, "port") or ""), read_count(_value_after(words, "id") or "")
    if "signal" in flags and "fullmesh" in flags:
        world.skip(
            line.origin, line.text, "the kernel refuses signal with fullmesh: the endpoint is imported without fullmesh"
        )
        flags = tuple(flag for flag in flags if flag != "fullmesh")
    port = port if port is not None and 0 < port < 2**16 and "signal" in flags else None
    if world.now_s is not None:
        keys: dict[str, Any] = {"type": "endpoint-added", "flags": list(flags) or ["subflow"]}
        world.changes.append(TimedChange(world.now_s, node, "", keys, line.origin, address))
    elif any(endpoint.address == address for endpoint in world.node(node).endpoints):
        world.skip(line.origin, line.text, "the node has this endpoint already")
    else:
        world.node(node).endpoints.append(EndpointLine(address, flags, port, number, line.origin))


def _change_endpoint(world: World, line: ShellLine, node: str, verb: str, words: list[str]) -> None:
    number = read_count(_value_after(words, "id") or "")
    known = world.node(node).endpoints
    address = next((entry for word in words if (entry := read_address(word)) is not None), None)
    if address is None and number is not None:
        numbered = {endpoint.id or place: endpoint.address for place, endpoint in enumerate(known, start=1)}
        address = numbered.get(number)
    if address is None:
        world.skip(line.origin, line.text, "its endpoint is not known")
        return
    if world.now_s is None:
        if verb == "change":
            world.skip(line.origin, line.text, "an endpoint is changed before the first transfer")
        else:
            world.node(node).endpoints = [endpoint for endpoint in known if endpoint.address != address]
        return
    flags = [word for word in words if word in ("backup", "nobackup", "fullmesh", "nofullmesh")]
    keys: dict[str, Any] = (
        {"type": "endpoint-changed", "flags": flags} if verb == "change" else {"type": "endpoint-removed"}
    )
    world.changes.append(TimedChange(world.now_s, node, "", keys, line.origin, address))


# -- tc


def _take_tc(world: World, line: ShellLine, node: str, words: list[str]) -> bool:
    while words and words[0].startswith("-"):
        if words[0] in ("-n", "-net", "-netns") and len(words) > 1:
            node, words = words[1], words[1:]
        words = words[1:]
    kind, verb, rest = _take_two(words)
    name = _value_after(rest, "dev")
    if verb in ("show", "ls", "list", "") or name is None:
        return True
    device = world.device(node, name)
    if kind == "filter":
        _take_filter(world, line, device, verb, rest)
        return True
    if kind not in ("qdisc", "class"):
        world.skip(line.origin, line.text, "the lab has no such object of tc")
        return True
    device.is_path = True
    if "ingress" in rest or "clsact" in rest:
        world.replace("hooks for arriving packets", line.origin)
        return True
    before = read_shape_quietly(device)
    if world.now_s is not None and device.initial is None:
        device.initial = read_shape(world, device) if device.disciplines else dict(device.shape)
    _change_tree(world, line, device, kind, verb, rest)
    if world.now_s is not None:
        _note_change(world, line, device, before)
    return True


def _take_filter(world: World, line: ShellLine, device: Device, verb: str, words: list[str]) -> None:
    """Take a filter that redirects what arrives to an IFB, or drops all packets for a time."""
    if "redirect" in words and ("ingress" in words or "ffff:" in words):
        device.redirect = words[-1]
        world.device(device.node, words[-1]).kind = "ifb"
    elif world.now_s is None or not ("drop" in words or verb in ("del", "delete")):
        world.skip(line.origin, line.text, "the lab has no filters; packets take the class for ordinary ones")
    elif "egress" in words:
        keys = {"type": "up" if verb in ("del", "delete") else "down"}
        world.changes.append(TimedChange(world.now_s, device.node, device.name, keys, line.origin))
    else:
        world.replace("both directions of a silent failure", line.origin)


def read_shape_quietly(device: Device) -> dict[str, Any]:
    """Return the keys of a device without notes."""
    return {key: entry.value for key, entry in read_shape(World(), device).items()}


def _change_tree(world: World, line: ShellLine, device: Device, kind: str, verb: str, words: list[str]) -> None:
    parent = "root" if "root" in words else _value_after(words, "parent") or ""
    handle = _value_after(words, "classid") if kind == "class" else _value_after(words, "handle")
    rest = _after_place(words, kind)
    if verb in ("del", "delete"):
        if parent == "root":
            device.disciplines.clear()
        else:
            device.disciplines = [entry for entry in device.disciplines if entry.parent != parent]
        return
    if not rest or len(device.disciplines) >= 100:
        world.skip(line.origin, line.text, "it has no discipline")
        return
    entry = ImportedDiscipline(
        rest[0], parent or "root", handle or "", tuple(rest[1:]), line.origin, is_class=kind == "class"
    )
    same = [
        index
        for index, known in enumerate(device.disciplines)
        if known.is_class == entry.is_class
        and (known.handle == entry.handle if entry.is_class else known.parent == entry.parent)
    ]
    if same:
        entry.handle = entry.handle or device.disciplines[same[0]].handle
        device.disciplines[same[0]] = entry
    else:
        device.disciplines.append(entry)


def _after_place(words: list[str], kind: str) -> list[str]:
    """Return the discipline and its options, without the words that say where it is."""
    rest = list(words)
    for name in ("dev", "parent", "handle", "classid"):
        if name in rest[:-1]:
            index = rest.index(name)
            del rest[index : index + 2]
    return [
        word for index, word in enumerate(rest) if not (word == "root" and index < 3 and kind in ("qdisc", "class"))
    ]


def _note_change(world: World, line: ShellLine, device: Device, before: dict[str, Any]) -> None:
    after = read_shape_quietly(device)
    keys = {key: after[key] for key in _CHANGEABLE if key in after and after.get(key) != before.get(key)}
    keys |= {key: zero for key, zero in (("loss", "0 %"), ("delay", "0 ms")) if key in before and key not in after}
    if keys.get("loss") == "100 %":
        keys = {"type": "down"}
    elif before.get("loss") == "100 %":
        keys = {"type": "up"}
    else:
        keys = {"type": "change", **keys} if keys else {}
    if keys and world.now_s is not None:
        world.changes.append(TimedChange(world.now_s, device.node, device.name, keys, line.origin))
    else:
        world.skip(line.origin, line.text, "nothing changes that an event of the lab can change")


# -- settings and old commands


def _take_sysctl(world: World, line: ShellLine, node: str, words: list[str]) -> bool:
    for pair in words:
        key, separator, value = pair.partition("=")
        if separator and not pair.startswith("-"):
            set_sysctl(world, world.node(node), key.strip(), value.strip(), line.origin)
    return True


def _take_echo(world: World, line: ShellLine, node: str, words: list[str]) -> bool:
    """Take ``echo VALUE > /proc/sys/net/...``."""
    match = re.search(r"^echo\s+(?P<value>.*?)\s*>\s*/proc/sys/(?P<key>net/[\w/.-]+)\s*$", line.text)
    if match is not None:
        set_sysctl(world, world.node(node), match["key"], match["value"].strip("'\" "), line.origin)
    return match is not None or not words


def _take_ifconfig(world: World, line: ShellLine, node: str, words: list[str]) -> bool:
    if len(words) < 2:
        return True
    mask = _value_after(words, "netmask")
    address = words[1] if "/" in words[1] or mask is None else f"{words[1]}/{mask}"
    interface = read_interface(address)
    if interface is not None:
        world.device(node, words[0]).addresses.append((interface, line.origin))
    elif world.now_s is not None and words[1] in ("up", "down"):
        keys = {"type": "up"} if words[1] == "up" else {"type": "down", "mode": "interface"}
        world.changes.append(TimedChange(world.now_s, node, words[0], keys, line.origin))
    return True


def _take_route(world: World, line: ShellLine, node: str, words: list[str]) -> bool:  # noqa: ARG001  one signature
    world.replace(
        "routes, rules and neighbours (the lab computes its own: shortest paths, by source address)", line.origin
    )
    return True


# -- time and transfers


def _take_sleep(world: World, line: ShellLine, node: str, words: list[str]) -> bool:  # noqa: ARG001  one signature
    match = re.fullmatch(r"(?P<number>\d{1,5}(?:\.\d{1,9})?)(?P<unit>[smh]?)", words[0] if words else "")
    if match is None:
        return False
    if world.now_s is not None and not line.in_background:
        world.now_s += float(match["number"]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match["unit"]]
    return True


def _take_client(world: World, line: ShellLine, node: str, words: list[str]) -> bool:
    name = words[0]
    target: Address | None = None
    if name in ("curl", "wget"):
        urls = (re.search(r"//\[?(?P<host>[0-9a-fA-F.:]+?)\]?(?::\d+)?(?:/|$)", word) for word in words)
        target = next((entry for url in urls if url and (entry := read_address(url["host"])) is not None), None)
    elif "-c" in words or name in ("nc", "ncat", "mptcp_connect", "netperf"):
        target = next((entry for word in words if (entry := read_address(word.partition("%")[0])) is not None), None)
    if target is None or (name in ("nc", "ncat", "mptcp_connect") and any(word.startswith("-l") for word in words)):
        if name in ("iperf3", "iperf", "nc", "ncat", "mptcp_connect") and (
            "-s" in words or any(word.startswith("-l") for word in words)
        ):
            world.replace("programs that wait for connections", line.origin)
        else:
            world.skip(line.origin, line.text, "the address that it connects to is not known")
        return True
    keys: dict[str, Any] = {}
    seconds, size = (
        _value_after(words, "-t") if "iperf" in name else None,
        _value_after(words, "-n") if "iperf" in name else None,
    )
    if size is not None and (count := re.fullmatch(r"(\d{1,6})([KMG]?)", size.upper())) is not None:
        amount = min(int(count[1]) * {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}[count[2]], 2**40)
        keys["size"] = str(Size(max(amount, 1)))
    elif name in ("iperf3", "iperf", "netperf"):
        keys["duration"] = str(Duration(min(read_count(seconds or "") or 10, 3600) * 10**9))
    else:
        keys["size"] = "10 MB"
        world.assume(f"{line.origin}: how much {name} transfers is not known; 10 MB are assumed")
    if ("iperf" in name and ("-R" in words or "--reverse" in words)) or name in ("curl", "wget"):
        keys["reverse"] = True
    streams = read_count(_value_after(words, "-P") or "") or 0
    if "iperf" in name and 1 < streams <= 128:
        keys["connections"] = streams
    start = world.now_s or 0.0
    world.transfers.append(ImportedTransfer(node, target, keys, start, line.origin))
    lasts = Duration.parse(keys["duration"]).seconds if "duration" in keys and not line.in_background else 0.0
    world.now_s = start + lasts
    return True
