# SPDX-License-Identifier: MIT
"""The engine ``ssh`` on machines with Debian's kernel, which has netem, behind a forwarded port: two QEMUs."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

from mptcplab.errors import LabError
from mptcplab.kernel.stock import StockKernel, find_stock
from mptcplab.recording.record import Recording

from .bed import Bed, make
from .stock import EmulatedMachine, boot
from .test_run import SHAPED, changes, rows, scenario

#: What the interfaces have before a run.
_BEFORE = """
ip link set dev eth1 up mtu 1400
ip address add 192.0.2.{n}/24 dev eth1
ip route add 10.50.0.0/16 via 192.0.2.{other} metric 7
sysctl -qw net.ipv4.conf.eth1.rp_filter=2
ip mptcp endpoint add 192.0.2.{n} dev eth1 subflow
"""
#: Half of what the machines carried where ten times as much work as CPUs ran beside them: 1 Mbit/s. So the links are
#: what limits, also there. The first one is shaped where packets arrive, too.
SLOW = """
title = "two slow lines"
phases = "fixed" # a packet's time is as long as these delays

[hosts.client]
[hosts.server]

[links.one]
between = ["client", "server"]
rate = "400 kbit/s"
delay = "10 ms"
queue = "200 ms"

[links.two]
between = ["client", "server"]
rate = "200 kbit/s"
delay = "40 ms"
queue = "200 ms"
loss = "0.1 %"
shape = "sender"

[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
duration = "8 s"

[record]
interval = "500 ms" # each sample takes such a CPU 0.1 s
"""
RATE_MBPS = 0.6
#: The delay of both directions of each link.
RTT_MS = {"one": 20.0, "two": 80.0}
NETWORKS = {"one": "10.0.1.", "two": "10.0.2."}
LEASE = "120 s"  # for a machine that interprets two CPUs beside much other work
#: A machine that interprets its CPU takes its time to put itself back.
_SOON_SECONDS, _LEASE_SECONDS = 120.0, 400.0


def _kernel() -> StockKernel:
    try:
        return find_stock("6.12")
    except LabError as error:
        pytest.fail(f"{error.message}; {error.hint}", pytrace=False)


@pytest.fixture(scope="module")
def emulated_bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    """Make machines `client` and `server` with the cables eth1 and eth2."""
    with make(tmp_path_factory.mktemp("bed")) as bed:
        boot(bed, _kernel(), ("client", "server"), ("one", "two"))
        for n, machine in enumerate(bed.machines.values(), start=1):
            machine.shell(_BEFORE.format(n=n, other=3 - n))
        yield bed


def _machine(bed: Bed, name: str) -> EmulatedMachine:
    machine = bed.machines[name]
    assert isinstance(machine, EmulatedMachine)
    return machine


def _wait(is_true: Callable[[], object], seconds: float, subject: str) -> None:
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end, subject
        time.sleep(0.2)


def test_rates_and_delays_of_netem(emulated_bed: Bed, tmp_path: Path) -> None:
    before = emulated_bed.settle()
    inventory = emulated_bed.inventory(SHAPED, lease=LEASE)
    words = ("run", scenario(tmp_path, SLOW), "--engine", f"ssh:{inventory}", "--out", tmp_path / "out")
    done = emulated_bed.mptcplab(*words, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = rows(tmp_path / "out")
    goodput = row["goodput_mbps"]["mean"]
    print(f"{goodput:.2f} Mbit/s, {row['shares']}")
    assert row["mptcp"] == "2 subflows", row
    # Of both links; headers, the start and losses take some.
    assert 0.6 * RATE_MBPS < goodput < RATE_MBPS, row
    assert min(row["shares"].values()) > 0.1, row
    (folder,) = (tmp_path / "out" / "runs").iterdir()
    for link, least in RTT_MS.items():
        samples = pl.col("node") == "client", pl.col("local").str.starts_with(NETWORKS[link]), pl.col("min_rtt_us") > 0
        smallest_ms = Recording(folder).subflows.filter(*samples)["min_rtt_us"].to_numpy().min() / 1000
        print(f"{link}: smallest RTT {smallest_ms:.1f} ms")
        # Not less than netem holds back. More: what an interpreted CPU, on a busy machine, does late.
        assert least - 0.1 <= smallest_ms < least + 400, link
    clocks = json.loads((folder / "machine.json").read_text())["clocks"]
    print(clocks)
    assert all(clock["is_consistent"] for clock in clocks.values())
    kernel = json.loads((folder / "manifest.json").read_text())["facts"]["kernel"]
    assert {node["release"] for node in kernel["nodes"].values()} == {_kernel().release}
    different = changes(before, emulated_bed.settle())
    assert not different, different


def _begin_run(bed: Bed, folder: Path) -> subprocess.Popen[bytes]:
    """Start a run that lasts for minutes, and return when its transfer has begun."""
    inventory = bed.inventory(SHAPED, lease=LEASE)
    file = scenario(folder, SLOW.replace('"8 s"', '"300 s"'))
    with (folder / "log").open("wb") as log:
        words = bed.command("run", file, "--engine", f"ssh:{inventory}", "--out", folder / "out")
        command = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    client = bed.machines["client"]
    _wait(
        lambda: "mptcplab-flow client" in client.run("ps", "-e", "-o", "args=") or command.poll() is not None,
        300,
        "no transfer has begun",
    )
    assert command.poll() is None, (folder / "log").read_text()
    return command


@pytest.mark.parametrize("plugged", [True, False], ids=["connected", "unplugged"])
def test_a_killed_command(emulated_bed: Bed, tmp_path: Path, plugged: bool) -> None:
    """SIGKILL. Only its own timer can put back the unplugged machine, which does not notice that the command ends."""
    before = emulated_bed.settle()
    client, server = (_machine(emulated_bed, name) for name in ("client", "server"))
    command = _begin_run(emulated_bed, tmp_path)
    _wait(lambda: client.runs == ["client"], 60, f"the client says that it has the runs {client.runs}")
    try:
        client.connect(connected=plugged)
        command.send_signal(signal.SIGKILL)
        command.wait()
        killed = time.monotonic()
        _wait(lambda: not server.runs, _SOON_SECONDS, "the server is not put back")
        _wait(lambda: not client.runs, _SOON_SECONDS if plugged else _LEASE_SECONDS, "the client is not put back")
        seconds = time.monotonic() - killed
        print(f"put back after {seconds:.1f} s")
    finally:
        client.connect(connected=True)
    if not plugged:
        assert seconds > 0.5 * float(LEASE.split()[0]), "not by its lease"
    different = changes(before, emulated_bed.settle())
    assert not different, different


def test_next_start_cleans_up_where_the_keeper_died(emulated_bed: Bed, tmp_path: Path) -> None:
    """SIGKILL for the keeper, and then for the command: the machine stays as it is until somebody runs the next lab."""
    before = emulated_bed.settle()
    client, server = (_machine(emulated_bed, name) for name in ("client", "server"))
    command = _begin_run(emulated_bed, tmp_path)
    client.shell("kill -9 $(cat /run/mptcplab-ssh/client/keeper.pid)")
    command.send_signal(signal.SIGKILL)
    command.wait()
    _wait(lambda: not server.runs, _SOON_SECONDS, "the server is not put back")
    assert client.runs == ["client"], "the machine was put back without a keeper"
    inventory = emulated_bed.inventory(SHAPED, lease=LEASE)
    words = ("run", scenario(tmp_path, SLOW), "--engine", f"ssh:{inventory}", "--out", tmp_path / "next")
    done = emulated_bed.mptcplab(*words, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    assert rows(tmp_path / "next")[0]["mptcp"] == "2 subflows"
    different = changes(before, emulated_bed.settle())
    assert not different, different
