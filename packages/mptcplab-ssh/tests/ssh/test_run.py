# SPDX-License-Identifier: MIT
"""Runs of the engine ``ssh`` on machines with sshd, and what they leave behind: nothing."""

from __future__ import annotations

import difflib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from mptcplab.recording.record import Recording

from .bed import SHIFT, Bed, has_time_namespaces

TWO_CABLES = """
title = "two cables"

[hosts.client]
[hosts.server]

[links.one]
between = ["client", "server"]

[links.two]
between = ["client", "server"]

[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
size = "200 MB"
"""
INTERFACES = {"client": {"one": "eth1", "two": "eth2"}, "server": {"one": "eth1", "two": "eth2"}}


def scenario(folder: Path, text: str) -> Path:
    """Write a scenario and return its file."""
    file = folder / "scenario.toml"
    file.write_text(text)
    return file


def rows(out: Path) -> list[dict[str, Any]]:
    """Return the rows of a results folder."""
    results: list[dict[str, Any]] = json.loads((out / "results.json").read_text())["rows"]
    return results


def changes(before: dict[str, str], after: dict[str, str]) -> str:
    """Return the lines that differ between two states of machines."""
    events = []
    for name, text in before.items():
        lines = difflib.unified_diff(text.splitlines(), after[name].splitlines(), "before", "after", lineterm="", n=0)
        events += [f"{name}: {line}" for line in lines]
    return "\n".join(events)


def _check_clocks(clocks: dict[str, dict[str, Any]]) -> None:
    """Each machine's clock is shifted by a number of seconds that is known here, and so is the error of the answer."""
    for number, (node, clock) in enumerate(clocks.items(), start=1):
        true_ns = SHIFT * number * 10**9 if has_time_namespaces() else 0
        print(f"{node}: off by {clock['offset_ns'] - true_ns} ns, said to be at most {clock['error_ns']} ns")
        assert abs(clock["offset_ns"] - true_ns) <= clock["error_ns"], node
        # Half a round trip over a veth pair; a busy machine needs some ms for the processes at both ends.
        assert clock["error_ns"] < 20_000_000, node


def test_two_machines_and_two_cables(pair: Bed, tmp_path: Path) -> None:
    before = pair.settle()
    inventory = pair.inventory(INTERFACES)
    done = pair.mptcplab(
        "run", scenario(tmp_path, TWO_CABLES), "--engine", f"ssh:{inventory}", "--out", tmp_path / "out"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = rows(tmp_path / "out")
    assert row["mptcp"] == "2 subflows", row
    assert row["time"] == "real"
    (folder,) = (tmp_path / "out" / "runs").iterdir()
    _check_clocks(json.loads((folder / "machine.json").read_text())["clocks"])
    kernel = json.loads((folder / "manifest.json").read_text())["facts"]["kernel"]
    assert kernel["nodes"]["server"]["release"] == os.uname().release
    different = changes(before, pair.settle())
    assert not different, different


LIMITED = """
[links.one]
between = ["client", "server"]
rate = "50 Mbit/s"
shape = "sender" # by the sending interface itself: this kernel may lack what redirects packets

[links.two]
between = ["client", "server"]
rate = "20 Mbit/s"
shape = "sender"
"""


SHAPED = {
    node: {link: f'{{ device = "{device}", shape = true }}' for link, device in links.items()}
    for node, links in INTERFACES.items()
}


def shaped_scenario(text: str) -> str:
    """Return a scenario with limited cables."""
    start, end = text.index("[links.one]"), text.index("[workloads")
    return text[:start] + LIMITED + text[end:]


def test_links_shaped_where_the_inventory_allows_it(pair: Bed, tmp_path: Path) -> None:
    """Rates by `tbf` on the named interfaces: MPTCP gets the sum of both, less headers and its start."""
    before = pair.settle()
    inventory = pair.inventory(SHAPED)
    text = shaped_scenario(TWO_CABLES.replace('size = "200 MB"', 'duration = "4 s"'))
    done = pair.mptcplab("run", scenario(tmp_path, text), "--engine", f"ssh:{inventory}", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    (row,) = rows(tmp_path / "out")
    goodput = row["goodput_mbps"]["mean"]
    print(f"{goodput:.1f} Mbit/s, {row['shares']}")
    assert 0.85 * 70 < goodput < 70, row
    different = changes(before, pair.settle())
    assert not different, different


def test_what_a_kernel_lacks_is_named_before_anything_runs(pair: Bed, tmp_path: Path) -> None:
    """A congestion control that is not allowed in namespaces, and shaping that the inventory does not allow."""
    inventory = pair.inventory(INTERFACES)
    file = scenario(tmp_path, TWO_CABLES)
    words = ("run", file, "--engine", f"ssh:{inventory}", "--out", tmp_path / "out")
    refused = pair.mptcplab(*words, "--set", "transport.congestion_control=vegas")
    assert refused.returncode == 3, refused.stderr
    assert "does not take the congestion control vegas" in refused.stderr
    refused = pair.mptcplab(*words, "--set", "links.one.rate=10 Mbit/s")
    assert refused.returncode == 2, refused.stderr
    assert "shape = true" in refused.stderr
    assert not list((tmp_path / "out").glob("runs/*"))


CALL = (
    TWO_CABLES[: TWO_CABLES.index("[workloads")]
    + """
[workloads.call]
kind = "voip"
from = "client"
to = "server"
duration = "2 s"

[workloads.cross]
kind = "udp"
from = "server"
to = "client"
rate = "1 Mbit/s"
duration = "2 s"
"""
)


def test_delays_between_clocks_that_do_not_agree(pair: Bed, tmp_path: Path) -> None:
    """One way between machines whose clocks differ by 1000 s, in both directions of that difference."""
    inventory = pair.inventory(INTERFACES)
    done = pair.mptcplab("run", scenario(tmp_path, CALL), "--engine", f"ssh:{inventory}", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "out" / "runs").iterdir()
    clocks = json.loads((folder / "machine.json").read_text())["clocks"]
    bound_ms = sum(clock["error_ns"] for clock in clocks.values()) / 1e6
    for row in rows(tmp_path / "out"):
        mean = row["metrics"]["delay_mean_ms"]["mean"]
        print(f"{row['workload']}: {mean:.3f} ms, +- {bound_ms:.3f} ms")
        # The cable itself takes some us; programs on a busy machine some ms.
        assert -bound_ms <= mean <= bound_ms + 20, row


SEVERAL = """
title = "iperf3, a failure and a capture"

[hosts.client]
[hosts.server]

[links.one]
[links.two]

[workloads.bulk]
kind = "iperf3"
from = "client"
to = "server"
duration = "4 s"

[[events]]
at = "1 s"
type = "down"
mode = "interface"
node = "client"
link = "one"

[[events]]
at = "2.5 s"
type = "up"
link = "one"

[record]
captures = [{ node = "client", link = "two", snaplen = "128 B" }]
"""


def test_another_program_with_events_and_a_capture(pair: Bed, tmp_path: Path) -> None:
    """Sockets of programs that do not report their own are sampled on the machines, queues as well."""
    before = pair.settle()
    inventory = pair.inventory(SHAPED)
    file = scenario(tmp_path, shaped_scenario(SEVERAL))
    done = pair.mptcplab("run", file, "--engine", f"ssh:{inventory}", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    (row,) = rows(tmp_path / "out")
    print(row["goodput_mbps"]["mean"], row["mptcp"], row["shares"], row["congestion_control"])
    assert row["mptcp"] == "2 subflows"
    assert row["shares"].keys() == {"one", "two"}
    assert min(row["shares"].values()) > 0.1, row
    (folder,) = (tmp_path / "out" / "runs").iterdir()
    recording = Recording(folder)
    sampled = recording.subflows.filter(pl.col("node") == "client")
    assert sampled["time_ns"].is_sorted()
    assert sampled["snd_cwnd"].min() > 0  # type: ignore[operator]
    # Of 4 s, at most every 40 ms; sampling itself takes some time on a busy machine.
    assert sampled["time_ns"].n_unique() > 20
    assert recording.queues.filter(pl.col("link") == "two")["bytes"].max() > 10_000  # type: ignore[operator]
    assert recording.events["kind"].to_list() == ["down", "up"]
    (capture,) = recording.captures.values()
    assert capture.stat().st_size > 100_000
    different = changes(before, pair.settle())
    assert not different, different


def test_a_cable_that_is_not_where_the_inventory_says(pair: Bed, tmp_path: Path) -> None:
    before = pair.settle()
    inventory = pair.inventory({**INTERFACES, "server": {"one": "eth2", "two": "eth1"}})
    words = ("--engine", f"ssh:{inventory}", "--out", tmp_path / "out")
    done = pair.mptcplab("run", scenario(tmp_path, TWO_CABLES), *words)
    assert done.returncode == 1, done.stderr
    assert "eth1 of client (client) is not connected with eth2 of server (server) (10.0.1.2)" in done.stderr
    assert f"--engine ssh:{inventory}" in done.stderr, "the command that repeats it has the engine"
    different = changes(before, pair.settle())
    assert not different, different


def test_a_machine_that_cannot_be_used(pair: Bed, tmp_path: Path) -> None:
    """The interface of the connection itself, a host that does not answer, a program that is not there."""
    file, out = scenario(tmp_path, TWO_CABLES), ("--out", tmp_path / "out")
    inventory = pair.inventory({**INTERFACES, "client": {"one": "mgmt", "two": "eth2"}})
    refused = pair.mptcplab("run", file, "--engine", f"ssh:{inventory}", *out)
    assert refused.returncode == 2, refused.stderr
    assert "mgmt of client (client) carries the ssh connection itself" in refused.stderr
    text = inventory.read_text().replace('host = "server"', 'host = "nosuch.invalid"').replace('"mgmt"', '"eth1"')
    inventory.write_text(text)
    refused = pair.mptcplab("run", file, "--engine", f"ssh:{inventory}", *out)
    assert refused.returncode == 1, refused.stderr
    assert "server (nosuch.invalid) cannot be reached" in refused.stderr
    inventory = pair.inventory(INTERFACES)
    pair.machines["server"].shell("mount --bind /dev/null $(command -v nstat)")
    refused = pair.mptcplab("run", file, "--engine", f"ssh:{inventory}", *out)
    assert refused.returncode == 3, refused.stderr
    assert "server (server) has no nstat" in refused.stderr
    assert "apt-get install iproute2" in refused.stderr


#: Programs of our scripts that routers have from busybox. Unlike OpenWrt's, Debian's shell of it takes its own `ip`.
APPLETS = ("cat", "ls", "mkdir", "mv", "rm", "cp", "chmod", "ln", "wc", "grep", "tr", "head", "tail", "sleep", "ping")


def test_routers_with_busybox(pair: Bed, tmp_path: Path) -> None:
    """The small programs of routers, without setsid and Python; iproute2 is the full one."""
    busybox = shutil.which("busybox")
    if busybox is None:
        pytest.skip("there is no busybox: apt-get install busybox-static")
    for machine in pair.machines.values():
        for name in APPLETS:
            place = str(Path(machine.run("which", name).strip()).resolve())
            machine.run("mount", "--bind", busybox, place)
        for name in ("setsid", "python3"):
            place = str(Path(machine.run("which", name).strip()).resolve())
            machine.run("mount", "--bind", "/dev/null", place)
    before = pair.settle()
    inventory = pair.inventory(SHAPED)
    file = scenario(tmp_path, shaped_scenario(TWO_CABLES).replace("200 MB", "5 MB"))
    done = pair.mptcplab("run", file, "--engine", f"ssh:{inventory}", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert rows(tmp_path / "out")[0]["mptcp"] == "2 subflows"
    different = changes(before, pair.settle())
    assert not different, different
