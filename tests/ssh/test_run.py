# SPDX-License-Identifier: MIT
"""Runs of the engine ``ssh`` on machines with sshd, and what they leave behind: nothing."""

from __future__ import annotations

import difflib
import json
import os
from pathlib import Path
from typing import Any

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
    found: list[dict[str, Any]] = json.loads((out / "results.json").read_text())["rows"]
    return found


def changes(before: dict[str, str], after: dict[str, str]) -> str:
    """Return the lines that differ between two states of machines."""
    found = []
    for name, text in before.items():
        lines = difflib.unified_diff(text.splitlines(), after[name].splitlines(), "before", "after", lineterm="", n=0)
        found += [f"{name}: {line}" for line in lines]
    return "\n".join(found)


def _check_clocks(clocks: dict[str, dict[str, Any]]) -> None:
    """Each machine's clock is shifted by a number of seconds that is known here, and so is the error of the answer."""
    for number, (node, clock) in enumerate(clocks.items(), start=1):
        true_ns = SHIFT * number * 10**9 if has_time_namespaces() else 0
        print(f"{node}: off by {clock['offset_ns'] - true_ns} ns, said to be at most {clock['error_ns']} ns")
        assert abs(clock["offset_ns"] - true_ns) <= clock["error_ns"], node
        # Half a round trip over a veth pair; a busy machine needs some ms for the processes at both ends.
        assert clock["error_ns"] < 20_000_000, node


def test_two_machines_and_two_cables(pair: Bed, tmp_path: Path) -> None:
    before = pair.settled()
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
    different = changes(before, pair.settled())
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


def test_links_shaped_where_the_inventory_allows_it(pair: Bed, tmp_path: Path) -> None:
    """Rates by `tbf` on the named interfaces: MPTCP gets the sum of both, less headers and its start."""
    before = pair.settled()
    shaped = {link: f'{{ device = "{device}", shape = true }}' for link, device in INTERFACES["client"].items()}
    inventory = pair.inventory({"client": shaped, "server": shaped})
    start, end = TWO_CABLES.index("[links.one]"), TWO_CABLES.index("[workloads")
    text = TWO_CABLES[:start] + LIMITED + TWO_CABLES[end:].replace('size = "200 MB"', 'duration = "4 s"')
    done = pair.mptcplab("run", scenario(tmp_path, text), "--engine", f"ssh:{inventory}", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    (row,) = rows(tmp_path / "out")
    goodput = row["goodput_mbps"]["mean"]
    print(f"{goodput:.1f} Mbit/s, {row['shares']}")
    assert 0.85 * 70 < goodput < 70, row
    different = changes(before, pair.settled())
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
