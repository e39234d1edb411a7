# SPDX-License-Identifier: MIT
"""Files of minitopo (https://github.com/qdeconinck/minitopo): a topology with paths, and an experiment.

Both have lines ``key:value``. A path is ``path_c2r_0:DELAY,QUEUE,RATE,LOSS,BACKUP`` with a one-way delay in ms, a queue
in packets, a rate in Mbit/s and a loss in percent; older files name it ``path_0``. ``c2r`` are links from the client to
the router, ``r2s`` links from the router to the server. ``netemAt_c2r_0:SECONDS,OPTIONS`` changes a path later.
"""

from __future__ import annotations

import re

from mptcplab.importers.commands import read_shape_quietly
from mptcplab.importers.qdiscs import rate_of_mbit, share_of_percent, time_of_ms
from mptcplab.importers.world import (
    Device,
    ImportedDiscipline,
    ImportedTransfer,
    Origin,
    TimedChange,
    World,
    set_control,
    set_scheduler,
    set_sysctl,
)
from mptcplab.scenario.writing import CommentedValue
from mptcplab.units import Packets, Size

_LINE = re.compile(r"\s*(?P<key>[A-Za-z][\w]{0,40})\s*:\s*(?P<value>.*?)\s*$")
_PATH = re.compile(r"path_(?:(?P<type>[a-z]\w{0,9})_)?(?P<number>\d{1,3})")
_NETEM = re.compile(r"netemAt_(?:(?P<type>[a-z]\w{0,9})_)?(?P<number>\d{1,3})")
_NUMBER = re.compile(r"\d{1,9}(?:\.\d{1,9})?")
_CLIENT, _ROUTER, _SERVER = "client", "router", "server"
#: Parameters of experiments that say how a transfer is recorded or by which program it is made.
_RECORDING = frozenset((
     "clientPcap", "serverPcap", "snaplenPcap", "snaplen_pcap", "autocork", "earlyRetrans", "desc",
     "changeNetem", "topoType", "leftSubnet", "rightSubnet", "mptcpEnabled", "metric", "pingCount", "kpms",
     "upms", "upmc",
))  # fmt: skip
_SYSCTLS = {
    "rmem": "net.ipv4.tcp_rmem",
    "wmem": "net.ipv4.tcp_wmem",
    "bufferAutotuning": "net.ipv4.tcp_moderate_rcvbuf",
}
_SIZES = {"": 1, "B": 1, "K": 1024, "KB": 1024, "M": 1024**2, "MB": 1024**2}
_MAX_PATHS = 16


def read_minitopo(world: World, file: str, text: str) -> int:
    """Take a topology or experiment; return the number of lines that were understood."""
    pairs: list[tuple[str, str, Origin]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            world.skip(Origin(file, number), line, "it is not of the form key:value")
        else:
            pairs.append((match["key"], match["value"], Origin(file, number)))
    for key, value, origin in pairs:
        _take(world, key, value, origin)
    _complete(world)
    changes = any(key == "changeNetem" and value == "yes" for key, value, _ in pairs)
    for key, value, origin in pairs:
        match = _NETEM.fullmatch(key)
        if match is not None and changes:
            _take_netem(world, match["type"] or "c2r", match["number"], value, origin)
        elif match is not None:
            world.skip(origin, f"{key}:{value}", "changeNetem is not yes")
    return len(pairs)


def _take(world: World, key: str, value: str, origin: Origin) -> None:
    client = world.node(_CLIENT)
    path = _PATH.fullmatch(key)
    if path is not None:
        _take_path(world, path["type"] or "c2r", path["number"], value, origin)
    elif key == "xpType" and value not in ("none", "ping"):
        world.transfers.append(ImportedTransfer(_CLIENT, _SERVER, {"size": "10 MB", "reverse": True}, 0.0, origin))
        world.assume(f"{origin}: experiment {value} becomes one download")
    elif key in ("file_size", "fileSize", "file"):
        _take_size(world, key, value, origin)
    elif key == "congctrl":
        for name in (_CLIENT, _SERVER):
            set_control(world, world.node(name), value, origin)
    elif key == "sched":
        for name in (_CLIENT, _SERVER):
            set_scheduler(world, world.node(name), value, origin, is_old=True)
    elif key in ("kpm", "kpmc"):
        if value == "fullmesh":
            client.transport["endpoints"] = CommentedValue("fullmesh", f"{origin}: {key}")
        elif value not in ("default", "netlink"):
            world.skip(origin, f"{key}:{value}", "the lab has no such path manager")
    elif key in _SYSCTLS:
        for name in (_CLIENT, _SERVER):
            set_sysctl(world, world.node(name), _SYSCTLS[key], value, origin)
    elif key.startswith("backup_path_") and value not in ("", "0"):
        world.device(_CLIENT, f"c2r{key.rpartition('_')[2][:3]}").is_backup = True
    elif key in _RECORDING:
        if key == "topoType" and value not in ("MultiIf", "MultiIfTopo"):
            world.assume(
                f"{origin}: topology {value} is taken as MultiIf: from the client to a router, and on to the server"
            )
        elif key == "mptcpEnabled" and value == "0":
            client.transport["protocol"] = CommentedValue("tcp", f"{origin}: {key}")
        else:
            world.replace("how minitopo numbers, records and names things", origin)
    elif not key.startswith("netemAt_"):
        world.skip(origin, f"{key}:{value}", "this parameter is not known")


def _take_path(world: World, kind: str, number: str, value: str, origin: Origin) -> None:
    words = [word.strip() for word in value.split(",")]
    if (
        not all(_NUMBER.fullmatch(word) for word in words)
        or len(words) not in (2, 3, 4, 5)
        or kind not in ("c2r", "r2s")
    ):
        world.skip(origin, f"path_{kind}_{number}:{value}", "a path is delay,queue,rate,loss,backup of type c2r or r2s")
        return
    delay, rate = time_of_ms(float(words[0])), rate_of_mbit(float(words[1] if len(words) == 2 else words[2]))
    loss = share_of_percent(float(words[3])) if len(words) > 3 else None
    queue = int(float(words[1])) if len(words) > 2 else 0
    if rate is None or not 1000 <= rate <= 10**11 or delay is None or len(world.cables) >= _MAX_PATHS:
        world.skip(origin, f"path_{kind}_{number}:{value}", "its rate or delay is not possible")
        return
    first, second = _devices(world, kind, number)
    place = str(origin)
    for device in (first, second):
        device.at_sender = False
        device.shape = {"rate": CommentedValue(str(rate), place)}
        if delay:
            device.shape["delay"] = CommentedValue(str(delay), f"{place}: one way")
        # Without a queue, minitopo takes as many packets as are under way in a round trip.
        trip = -(-int(rate) * 2 * int(delay) // (8 * 1500 * 10**9))
        about = place if queue else f"{place}: not given; packets of a round trip, as minitopo computes it"
        device.shape["queue"] = CommentedValue(str(Packets(max(1, min(queue or trip, 10**6)))), about)
        if loss:
            device.shape["loss"] = CommentedValue(str(loss), place)
    if len(words) == 5 and words[4] != "0":
        first.is_backup = True
    world.cables.append((first, second, origin))


def _devices(world: World, kind: str, number: str) -> tuple[Device, Device]:
    name = f"{kind}{int(number)}"
    ends = (_CLIENT, _ROUTER) if kind == "c2r" else (_ROUTER, _SERVER)
    return world.device(ends[0], name), world.device(ends[1], name)


def _complete(world: World) -> None:
    """Add what minitopo adds: the router, and its link to the server where the file has none."""
    if not world.cables:
        return
    world.node(_ROUTER).forwards = True
    if not any(first.name.startswith("r2s") for first, _, _ in world.cables):
        first, second = _devices(world, "r2s", "0")
        world.cables.append((first, second, world.cables[0][2]))
        world.assume("the link from the router to the server has no limits, as in minitopo without path_r2s")


def _take_size(world: World, key: str, value: str, origin: Origin) -> None:
    match = re.fullmatch(r"(?P<number>\d{1,9})\s*(?P<unit>[KM]?B?)", value.upper())
    if match is None or not int(match["number"]) or not world.transfers:
        world.skip(origin, f"{key}:{value}", "it is not a size, or no experiment is named before it")
        return
    size = Size(min(int(match["number"]) * _SIZES[match["unit"]], 10**11))
    world.transfers[-1].keys["size"] = CommentedValue(str(size), str(origin))


def _take_netem(world: World, kind: str, number: str, value: str, origin: Origin) -> None:
    at, _, options = value.partition(",")
    if not _NUMBER.fullmatch(at.strip()) or kind not in ("c2r", "r2s"):
        world.skip(origin, value, "it is not of the form SECONDS,OPTIONS")
        return
    first, second = _devices(world, kind, number)
    new = Device(
        first.node, first.name, disciplines=[ImportedDiscipline("netem", "root", "1:", tuple(options.split()), origin)]
    )
    keys = {name: entry for name, entry in read_shape_quietly(new).items() if name in ("delay", "jitter", "loss")}
    if keys.get("loss") == "100 %":
        keys = {"type": "down"}
    elif keys:
        keys = {"type": "change", **keys}
    else:
        world.skip(origin, value, "no event of the lab can change it")
        return
    for device in (first, second):
        world.changes.append(TimedChange(float(at), device.node, device.name, dict(keys), origin))
