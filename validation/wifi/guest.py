# SPDX-License-Identifier: MIT
"""Runs inside the lab: builds a Wi-Fi network as a file says, loads it, and writes what was measured.

``python3 guest.py SPECIFICATION RESULT``, both JSON. Standard library only. Each radio is in a network namespace of
its own name; access points run hostapd, stations wpa_supplicant.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

_CLONE_NEWNET = 0x40000000
_SO_RCVBUFFORCE = 33
_FOLDER = Path("/tmp/wifi")
_RECEIVE_BUFFER = 16 << 20
_PORT = 5000
#: Between two readings of what has arrived.
_READ_S = 0.05
#: Datagrams in a row, and the pause after them. A network that drops them at once, for example because the station has
#: gone, never blocks the sender, and virtual time would stand still. It is 380 Mbit/s.
_BURST = 32
_PAUSE_S = 0.001


def run(*words: str, given: str = "") -> str:
    """Return the output of a command that reads ``given``. :raises SystemExit: with its message if it fails."""
    done = subprocess.run(words, capture_output=True, text=True, input=given)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def start(*words: str, until: str) -> subprocess.Popen[str]:
    """Start a program and return it when it has printed a line with ``until``."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    seen: list[str] = []
    for line in process.stdout:
        if until in line:
            return process
        seen.append(line)
    raise SystemExit(f"{' '.join(words)} ended: {''.join(seen)}")


class Medium:
    """The program that is the air between the radios."""

    def __init__(self, program: str, config: str, log: bool) -> None:
        _FOLDER.mkdir()
        file = _FOLDER / "medium.conf"
        file.write_text(config)
        self._stats = _FOLDER / "stats.json"
        options = ["--stats", str(self._stats), *(["--log", "/run/out/frames.log"] if log else [])]
        self._process = start(program, str(file), *options, until="ready")

    def stats(self) -> Any:
        """Return the counters of all radios."""
        self._stats.unlink(missing_ok=True)
        self._process.send_signal(signal.SIGUSR1)
        while not self._stats.exists():
            time.sleep(0.001)
        return json.loads(self._stats.read_text())

    def end(self) -> None:
        """Stop it, so that its log is complete."""
        self._process.terminate()
        self._process.wait()


def make_node(name: str, address: str) -> None:
    """Move a radio into a namespace of its name, as wlan0 with an address."""
    (device,) = os.listdir(f"/sys/class/ieee80211/{name}/device/net")
    run("ip", "netns", "add", name)
    run("iw", "phy", name, "set", "netns", "name", name)
    inside = ("ip", "netns", "exec", name)
    run(*inside, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1")
    run("ip", "-n", name, "link", "set", device, "name", "wlan0")
    run("ip", "-n", name, "address", "add", f"{address}/16", "dev", "wlan0")


def start_access_point(name: str, config: str) -> None:
    """Start hostapd and wait until it sends beacons.

    Stations announce the rates of 802.11g to an access point of 802.11b, which would use them.
    """
    file = _FOLDER / f"{name}.hostapd"
    file.write_text(f"interface=wlan0\ndriver=nl80211\n{config}")
    start("ip", "netns", "exec", name, "stdbuf", "-oL", "hostapd", str(file), until="AP-ENABLED")
    if "hw_mode=b" in config:
        words = ("iw", "dev", "wlan0", "set", "bitrates", "legacy-2.4", "1", "2", "5.5", "11")
        run("ip", "netns", "exec", name, *words)


def start_station(name: str, config: str, bitrates: list[str]) -> None:
    """Start wpa_supplicant and wait until it is associated."""
    file = _FOLDER / f"{name}.supplicant"
    file.write_text(f"p2p_disabled=1\nnetwork={{\n{config}\n}}\n")
    inside = ("ip", "netns", "exec", name)
    run("ip", "-n", name, "link", "set", "wlan0", "up")
    program = ("stdbuf", "-oL", "wpa_supplicant", "-Dnl80211", "-iwlan0", "-c", str(file))
    start(*inside, *program, until="CTRL-EVENT-CONNECTED")
    if bitrates:
        run(*inside, "iw", "dev", "wlan0", "set", "bitrates", *bitrates)


def socket_in(name: str) -> socket.socket:
    """Return a UDP socket of a namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    here = os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{name}", os.O_RDONLY)
    if libc.setns(there, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    libc.setns(here, _CLONE_NEWNET)
    os.close(here)
    os.close(there)
    return made


class Load:
    """A sender that always has a datagram, and the receiver that counts."""

    def __init__(self, index: int, of: dict[str, Any], addresses: dict[str, str]) -> None:
        self._payload = bytes(of["bytes"])
        self.received = 0
        port = _PORT + index
        self._receiver = socket_in(of["to"])
        self._receiver.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BUFFER)
        self._receiver.bind(("0.0.0.0", port))
        self.sender = socket_in(of["from"])
        self.sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, of["buffer"])
        self.sender.connect((addresses[of["to"]], port))

    def send(self) -> bool:
        """Send until the socket is full, and return whether it is."""
        try:
            for _ in range(_BURST):
                self.sender.send(self._payload)
        except BlockingIOError:
            return True
        return False

    def read(self) -> None:
        """Count what has arrived."""
        try:
            while True:
                self.received += len(self._receiver.recv(65536))
        except BlockingIOError:
            pass


def load_for(loads: list[Load], seconds: float) -> None:
    """Keep all senders busy for a time."""
    poll = select.epoll()
    by_descriptor = {load.sender.fileno(): load for load in loads}
    for descriptor in by_descriptor:
        poll.register(descriptor, select.EPOLLOUT)
    end = time.monotonic() + seconds
    read_at = time.monotonic() + _READ_S
    while (now := time.monotonic()) < end:
        full = [by_descriptor[descriptor].send() for descriptor, _ in poll.poll(max(0.0, min(end, read_at) - now))]
        if not all(full):
            time.sleep(_PAUSE_S)
        if time.monotonic() >= read_at:
            read_at += _READ_S
            for load in loads:
                load.read()
    for load in loads:
        load.read()
    poll.close()


def queues_of(name: str) -> dict[str, str]:
    """Return the fair queues of a radio as mac80211 shows them: of each station, and of all."""
    folder = Path(f"/sys/kernel/debug/ieee80211/{name}")
    files = [*sorted(folder.glob("netdev:*/stations/*/aqm")), folder / "aqm"]
    return {str(file.relative_to(folder)): file.read_text() for file in files if file.exists()}


def dump_of(name: str) -> str:
    """Return the report of the kernel about the stations that a node hears."""
    return run("ip", "netns", "exec", name, "iw", "dev", "wlan0", "station", "dump")


def build(specification: dict[str, Any]) -> dict[str, str]:
    """Make the nodes, start access points, associate stations; return each node's address."""
    run("mount", "-t", "debugfs", "debugfs", "/sys/kernel/debug")
    names = [*specification["access_points"], *specification["stations"]]
    addresses = {name: f"10.0.{index // 250}.{index % 250 + 1}" for index, name in enumerate(names)}
    for name in names:
        make_node(name, addresses[name])
    for name, config in specification["access_points"].items():
        start_access_point(name, config)
    for name, station in specification["stations"].items():
        start_station(name, station["network"], station["bitrates"])
    macs = specification["macs"]
    for name in names:
        others = [other for other in names if other != name]
        entries = [f"{addresses[other]} lladdr {macs[other]} dev wlan0 nud permanent" for other in others]
        run("ip", "-n", name, "-batch", "-", given="".join(f"neighbour replace {entry}\n" for entry in entries))
    for words in specification["commands"]:
        run(*words)
    return addresses


def measure(specification: dict[str, Any], medium: Medium, addresses: dict[str, str]) -> dict[str, Any]:
    """Load the network, and return counters of the radios and received bytes at both ends of the measured time."""
    loads = [Load(index, of, addresses) for index, of in enumerate(specification["loads"])]
    load_for(loads, specification["warm_s"])
    before = medium.stats()
    received = [load.received for load in loads]
    started = time.monotonic()
    load_for(loads, specification["measured_s"])
    elapsed = time.monotonic() - started
    queues = {name: queues_of(name) for name in specification["queues_of"]}
    after = medium.stats()
    return {
        "elapsed_s": elapsed,
        "goodput_mbps": [
            8e-6 * (load.received - earlier) / elapsed for load, earlier in zip(loads, received, strict=True)
        ],
        "before": before,
        "after": after,
        "queues": queues,
        "stations": {name: dump_of(name) for name in addresses},
    }


def main() -> None:
    """Run the experiment of the first argument and write the second."""
    specification = json.loads(Path(sys.argv[1]).read_text())
    medium = Medium(specification["program"], specification["medium"], specification["log"])
    addresses = build(specification)
    result = measure(specification, medium, addresses)
    medium.end()
    Path(sys.argv[2]).write_text(json.dumps(result))


if __name__ == "__main__":
    main()
