# SPDX-License-Identifier: MIT
"""The CPU of a node: in a plan, in the name of a kernel, and in what a recording says of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mptcplab.guest.nodes import PATH_MANAGER
from mptcplab.kernel import data
from mptcplab.kernel.data import build_options, canonical_variant, has_part, load_inputs, variant_of, with_part
from mptcplab.metrics.catalog.cpu import compute_cpu_shares, cpu_uses, cpu_warnings, parse_use
from mptcplab.metrics.subflows import Ends
from mptcplab.node.cpu import CHARGED, without_cpu_cost
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.model import Plan
from mptcplab.recording.record import FORMAT, Recording
from mptcplab.scenario.document import ScenarioError
from mptcplab.scenario.load import load
from mptcplab.workload.context import FLOW

SCENARIO = """
title = "cpu"
kernel = "7.2-cpu"

[topology]
preset = "disjoint-paths"

[transport]
path_manager = "userspace"

[record]
captures = [{ node = "server" }]

[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
size = "10 MB"

[hosts.server]
"""
CPU = 'cpu = { per_call = "1.2 us", per_byte = "0.35 ns" }\n'


def _plan(tmp_path: Path, text: str) -> Plan:
    file = tmp_path / "scenario.toml"
    file.write_text(text)
    return compile_plan(load(file).points[0].scenario, seed=1)


def test_only_programs_of_workloads_on_the_node_are_charged(tmp_path: Path) -> None:
    plan = _plan(tmp_path, SCENARIO + CPU)
    charged = {program.name: program for program in plan.programs if program.argv[: len(CHARGED)] == CHARGED}
    assert list(charged) == ["bulk.server"], [program.name for program in plan.programs]
    assert without_cpu_cost(charged["bulk.server"])[0] == FLOW
    assert charged["bulk.server"].uses == ("sh", FLOW)
    assert {program.argv[0] for program in plan.programs} >= {PATH_MANAGER, FLOW, "sh"}


#: Routers with sockets of their own are the entry and the exit; only the first has a CPU.
GATEWAY = """
title = "cpu"
kernel = "7.2-cpu"
transport.protocol = "tcp"
hosts = { laptop = {}, web = {} }
gateways.bond = { program = "shadowsocks-libev", entry = "home", exit = "vps" }
workloads.bulk = { kind = "flow", from = "laptop", to = "web", size = "1 MB" }
routers.vps.transport = {}

[links]
lan.between = ["laptop", "home"]
dsl.between = ["home", "vps"]
wan.between = ["vps", "web"]

[routers.home]
transport = {}
"""


def test_a_gateways_program_is_charged_on_its_node(tmp_path: Path) -> None:
    plan = _plan(tmp_path, GATEWAY + CPU)
    assert [program.name for program in plan.programs if program.argv[: len(CHARGED)] == CHARGED] == [
        "gateway.entry-bond"
    ]


def test_the_cpu_adds_its_settings_and_counter_and_changes_nothing_else(tmp_path: Path) -> None:
    without, plan = (json.loads(_plan(tmp_path, SCENARIO + end).to_json()) for end in ("", CPU))
    settings = ["net.lab.cpu_per_call_ps=1200000", "net.lab.cpu_per_byte_ps=350"]
    (changed,) = [command for command in plan["setup"] if settings[0] in command["argv"]]
    assert (changed["node"], changed["argv"][-2:]) == ("server", settings)
    changed["argv"] = changed["argv"][:-2]
    assert plan["setup"] == without["setup"]
    (counter,) = [counter for counter in plan["counters"] if counter["name"] == "cpu.txt"]
    assert (counter["node"], counter["argv"]) == ("server", ["cat", "/proc/net/lab_cpu"])
    plan["counters"].remove(counter)
    for program in plan["programs"]:
        if program["name"] == "bulk.server":
            program["argv"], program["starts"] = program["argv"][len(CHARGED) :], []
    assert plan == without


def test_a_cpu_lets_time_pass_on_links_that_do_not(tmp_path: Path) -> None:
    """Without it, a workload with a duration would never end there, and is refused."""
    text = SCENARIO.replace('size = "10 MB"', 'duration = "1 s"')
    assert _plan(tmp_path, text + CPU).programs
    with pytest.raises(ScenarioError, match="never ends"):
        _plan(tmp_path, text)


# -- kernels


def test_the_variant_has_its_place_in_names() -> None:
    assert variant_of(plain=True, hz=250, cpu=True, fixes=("window",), debug=True) == "plain-hz250-cpu-window-debug"
    assert canonical_variant("hz1000-cpu") == variant_of(cpu=True) == "cpu"
    assert build_options("hz100-cpu") == ["--hz", "100", "--cpu"]


def test_it_adds_a_patch_and_files_to_the_same_kernel() -> None:
    lab, cpu = (load_inputs("7.2", variant=variant) for variant in ("", "cpu"))
    (patch,) = cpu.patches[len(lab.patches) :]
    assert patch.name == "options/cpu/0001-um-charge-cpu.patch"
    names = {file.name for file in cpu.overlay} - {file.name for file in lab.overlay}
    assert names == {"arch/um/kernel/lab_cpu.c", "arch/um/include/linux/lab_cpu.h"}
    assert set(lab.overlay) < set(cpu.overlay)
    plain = load_inputs("7.2", variant="plain-cpu")
    assert {file.name for file in plain.overlay} == names


@pytest.mark.parametrize(
    ("kernel", "has", "named"),
    [
        ("7.2", False, "7.2-cpu"),
        ("7.2-hz1000", False, "7.2-cpu"),
        ("6.12-hz250-window", False, "6.12-hz250-cpu-window"),
        ("7.2-cpu", True, "7.2-cpu"),
        ("7.2-cpu-b1eee07f1596", True, "7.2-cpu"),
        ("/cache/kernels/7.2-hz250-cpu-b1eee07f1596/linux", True, "7.2-cpu"),
        ("/cpus/kernels/7.2-b1eee07f1596/linux", False, "7.2-cpu"),
    ],
)
def test_a_kernel_says_by_its_name_that_it_has_cpus(kernel: str, has: bool, named: str) -> None:
    assert (has_part(kernel, data.CPU), with_part(kernel, data.CPU)) == (has, named)


# -- recordings

#: Ten intervals of 100 ms since boot: one before time zero, then five that are full, and four that are half busy.
_STARTS = range(9_900_000_000, 10_900_000_000, 100_000_000)
_BUSY = [1_000_000, *[100_000_000] * 5, *[50_000_000] * 4]
COUNTED = "calls 12\nbytes 3000\nbusy_ns 701000000\ninterval_ns 100000000\n" + "".join(
    f"{start} {busy}\n" for start, busy in zip(_STARTS, _BUSY, strict=True)
)
ENDS = Ends("bulk", "client", "server", None, None, None, (5001,), is_bulk=True, has_control_connections=False)


def _make_recording(folder: Path, *, end_ns: int, cpu: bool = True) -> Recording:
    programs = [
        {"name": "bulk.server", "role": "server", "start_ns": -(10**9), "end_ns": 10**9},
        {"name": "bulk.client", "role": "client", "start_ns": 0, "end_ns": end_ns},
    ]
    manifest: dict[str, Any] = {"format": FORMAT, "zero_ns": 10 * 10**9, "programs": programs}
    place = folder / "counters" / "server"
    place.mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    if cpu:
        (place / "cpu.txt").write_text(COUNTED)
    return Recording(folder)


def test_the_share_is_that_of_the_workloads_time(tmp_path: Path) -> None:
    use = parse_use(COUNTED, zero_ns=10 * 10**9)
    assert (use.calls, use.bytes, use.busy_ns, use.interval_ns) == (12, 3000, 701_000_000, 100_000_000)
    assert use.share(0, 500_000_000) == 1
    assert use.share(0, 900_000_000) == pytest.approx(0.7 / 0.9)
    assert use.share(450_000_000, 550_000_000) == pytest.approx(0.75), (
        "half of a full interval, half of a half full one"
    )
    assert use.share(0, 0) == 0
    assert compute_cpu_shares(_make_recording(tmp_path / "r", end_ns=500_000_000), ENDS) == {"server": 1}


def test_a_warning_names_the_cpu_that_was_busy(tmp_path: Path) -> None:
    limited, idle, none = (
        list(cpu_warnings(_make_recording(tmp_path / name, end_ns=end_ns, cpu=cpu), ENDS))
        for name, end_ns, cpu in (("a", 550_000_000, True), ("b", 900_000_000, True), ("c", 550_000_000, False))
    )
    assert limited == ["the CPU of server was busy 95 % of the time: it may have been the limit"]
    assert idle == none == []
    assert cpu_uses(_make_recording(tmp_path / "d", end_ns=1, cpu=False)) == {}
