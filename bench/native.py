# SPDX-License-Identifier: MIT
"""Measures equal packets through this machine's own kernel: two hosts and a router as namespaces, unshaped, one CPU."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mptcplab.engine.tools import flow_program

_PORT = "5001"
_ADDRESSES = {
    ("c", "hop1"): "10.77.1.1/24",
    ("r", "hop1"): "10.77.1.2/24",
    ("r", "hop2"): "10.77.2.1/24",
    ("s", "hop2"): "10.77.2.2/24",
}
_SERVER = "10.77.2.2"


@dataclass(frozen=True)
class Native:
    """Received payload, and CPU seconds of both programs and of the kernel's packet thread on their CPU.

    ``packet_hops``: packets sent by any node on any link, acknowledgements included.
    """

    payload_bytes: int
    packet_hops: int
    cpu_seconds: float
    wall_seconds: float

    @property
    def payload_per_cpu_second(self) -> float:
        """The received payload per CPU second, in bytes."""
        return self.payload_bytes / self.cpu_seconds

    @property
    def packet_hops_per_cpu_second(self) -> float:
        """The number of packets that one CPU carries over one link per second."""
        return self.packet_hops / self.cpu_seconds


def find_obstacle() -> str | None:
    """Return the reason why it cannot be measured here, or None."""
    if os.geteuid() != 0:
        return "needs root, to create network namespaces"
    name = f"mptcplab-bench-{os.getpid()}"
    if subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode:
        return "this machine does not allow the creation of network namespaces"
    subprocess.run(["ip", "netns", "delete", name], check=True)
    return None


def measure(*, seconds: float, cpu: int, quantum_us: int) -> Native:
    """Measure one TCP flow over two links and a router, with offloads disabled."""
    with _network() as names, tempfile.TemporaryDirectory(prefix="mptcplab-bench-") as folder:
        pinned = ("taskset", "--cpu-list", str(cpu))
        flow = str(flow_program())
        common = ("--port", _PORT, "--connections", "1", "--quantum-us", str(quantum_us))
        report = Path(folder, "server")
        thread = _thread_of(cpu)
        started, thread_before = time.monotonic(), _cpu_of(thread)
        before = os.times()
        with subprocess.Popen(
            [*_namespace_command(names["s"]), *pinned, flow, "server", *common, "--output", str(report)]
        ) as server:
            _wait_for_listener(names["s"])
            call = ("client", "--connect", _SERVER, "--seconds", f"{seconds:g}", *common, "--output", "/dev/null")
            subprocess.run([*_namespace_command(names["c"]), *pinned, flow, *call], check=True, timeout=seconds + 30)
            server.wait(30)
        after = os.times()
        used = after.children_user - before.children_user + after.children_system - before.children_system
        events = [json.loads(line) for line in report.read_text().splitlines()]
        payload = sum(event["bytes"] for event in events if event["event"] == "end")
        return Native(
            payload, _count_packets(names), used + _cpu_of(thread) - thread_before, time.monotonic() - started
        )


def _count_packets(names: dict[str, str]) -> int:
    packets = 0
    for name in names.values():
        command = ["ip", "-n", name, "-s", "-j", "link", "show"]
        devices = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        packets += sum(device["stats64"]["tx"]["packets"] for device in devices if device["link_type"] == "ether")
    return packets


def _namespace_command(namespace: str) -> tuple[str, ...]:
    return ("ip", "netns", "exec", namespace)


@contextlib.contextmanager
def _network() -> Iterator[dict[str, str]]:
    """Create the three namespaces and yield their names; at the end they are removed with their links."""
    names = {node: f"mptcplab-bench-{os.getpid()}-{node}" for node in ("c", "r", "s")}
    try:
        for name in names.values():
            _ip("netns", "add", name)
        for link, first, second in (("hop1", "c", "r"), ("hop2", "r", "s")):
            ends = ("netns", names[first], "type", "veth", "peer", "name", link, "netns", names[second])
            _ip("link", "add", "name", link, "mtu", "1500", *ends)
        for (node, link), address in _ADDRESSES.items():
            _ip("-n", names[node], "address", "add", address, "dev", link)
            _ip("-n", names[node], "link", "set", "dev", link, "up")
            offloads = ("ethtool", "-K", link, "tso", "off", "gso", "off", "gro", "off")
            subprocess.run([*_namespace_command(names[node]), *offloads], check=True, capture_output=True)
        _ip("-n", names["c"], "route", "add", "default", "via", "10.77.1.2")
        _ip("-n", names["s"], "route", "add", "default", "via", "10.77.2.1")
        forwarding = ("sysctl", "-qw", "net.ipv4.ip_forward=1")
        subprocess.run([*_namespace_command(names["r"]), *forwarding], check=True)
        yield names
    finally:
        for name in names.values():
            subprocess.run(["ip", "netns", "delete", name], capture_output=True)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def _wait_for_listener(namespace: str) -> None:
    deadline = time.monotonic() + 10
    command = [*_namespace_command(namespace), "ss", "-ltnH", f"sport = :{_PORT}"]
    while not subprocess.run(command, capture_output=True).stdout:
        if time.monotonic() > deadline:
            raise TimeoutError("the server of the native measurement does not listen")
        time.sleep(0.02)


def _thread_of(cpu: int) -> Path | None:
    """Return the folder of the kernel thread that handles the packets which a busy CPU defers."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (folder / "comm").read_text().strip() == f"ksoftirqd/{cpu}":
                return folder
    return None


def _cpu_of(process: Path | None) -> float:
    if process is None:
        return 0.0
    fields = (process / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
