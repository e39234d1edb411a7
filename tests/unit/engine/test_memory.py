# SPDX-License-Identifier: MIT
"""The memory of labs: estimated by need, set by its key, refused where this machine has too little, and divided."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from tests.unit.command_output import output_of

from mptcplab.campaign import failures
from mptcplab.engine import memory as engine_memory
from mptcplab.engine.memory import MemoryBudget, find_memory_missing, labs_at_once, with_limits
from mptcplab.engine.virtual.engine import VirtualEngineKind
from mptcplab.engine.virtual.machine import LabBoot, _arguments
from mptcplab.errors import Exit
from mptcplab.guest import machine as guest_machine
from mptcplab.metrics.values import memory_text
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.estimate import memory_bytes, needed_bytes
from mptcplab.plan.model import TCP_PAGES
from mptcplab.scenario.document import ScenarioError
from mptcplab.scenario.load import Experiment, load
from mptcplab.units import Size

ROOT = Path(__file__).resolve().parents[3]
GIB = 1 << 30
SCENARIO = """
title = "Long paths"
TOP
topology = { preset = "disjoint-paths", paths = 2 }
links.link1 = { rate = "RATE", delay = "75 ms" }
links.link2 = { rate = "RATE", delay = "75 ms" }
transport = { tcp_rmem = ["4 KiB", "128 KiB", "BUFFER"], tcp_wmem = ["4 KiB", "64 KiB", "BUFFER"] }
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "9 s", connections = CONNECTIONS }
"""


def _experiment(folder: Path, rate: int = 500, buffer: int = 48, connections: int = 1, top: str = "") -> Experiment:
    file = folder / "s.toml"
    values = {"RATE": f"{rate} Mbit/s", "BUFFER": f"{buffer} MiB", "CONNECTIONS": str(connections), "TOP": top}
    text = SCENARIO
    for word, value in values.items():
        text = text.replace(word, value)
    file.write_text(text)
    return load(file)


def _memory(folder: Path, rate: int = 500, buffer: int = 48, connections: int = 1, top: str = "") -> float:
    """Return the memory of the lab in GiB."""
    return memory_bytes(_experiment(folder, rate, buffer, connections, top).points[0].scenario) / GIB


@pytest.mark.slow
def test_all_that_is_shipped_has_the_usual_memory() -> None:
    """Their recordings keep their identity. The largest is the study's with several connections on a wide path."""
    files = [*ROOT.glob("examples/**/*.toml"), *ROOT.glob("src/mptcplab/studies/*/*.toml")]
    scenarios = [file for file in files if "[workloads" in file.read_text() or "extends" in file.read_text()]
    points = [point.scenario for file in scenarios for point in load(file).points[:2]]
    assert len(points) > 250
    assert {memory_bytes(scenario) for scenario in points} == {GIB}


def test_the_usual_memory_is_in_no_plan(tmp_path: Path) -> None:
    plan = compile_plan(_experiment(tmp_path, rate=10, buffer=6).points[0].scenario, seed=1)
    assert "memory" not in plan.to_json()
    assert with_limits(plan) is plan
    larger = compile_plan(_experiment(tmp_path).points[0].scenario, seed=1)
    assert json.loads(larger.to_json())["memory_bytes"] == larger.memory_bytes


def test_more_where_the_kernel_would_restrain_tcp(tmp_path: Path) -> None:
    """1 Gbit/s over 150 ms of round trip and 100 ms of queue: 31 MB on the way, so that 48 MiB of buffer is used at
    both ends. A sixteenth of the memory has to hold that."""
    needed = _memory(tmp_path)
    assert 2 * 48 / 1024 * 16 <= needed <= 3, "at least both buffers; not more than twice that"
    assert _memory(tmp_path, rate=20) == 1, "the buffers do not fill"
    assert _memory(tmp_path, buffer=8) == 1, "the buffers are small"
    assert _memory(tmp_path, buffer=8, connections=16) > needed / 2, "and here there are many"
    more = [_memory(tmp_path, rate=rate, buffer=256) for rate in (200, 400, 800)]
    assert more == sorted(set(more)), more


def test_programs_fill_their_send_buffers(tmp_path: Path) -> None:
    """However slow the path is: 40 connections that may write 4 MiB each hold 160 MiB."""
    scenario = _experiment(tmp_path, rate=10, connections=40).points[0].scenario
    host, buffers = scenario.nodes["client"], (Size(4096), Size(4 << 20), Size(4 << 20))
    eager = scenario.transports["client"].model_copy(update={"tcp_wmem": buffers})
    hosts = {**scenario.node_tables["hosts"], "client": host.model_copy(update={"transport": eager})}
    assert memory_bytes(scenario) == GIB
    assert memory_bytes(scenario.model_copy(update={"hosts": hosts})) >= 160 / 1024 * 16 * GIB


RELAYED = """
title = "Long paths between two proxies"
transport = { protocol = "tcp" }
hosts = { client = {}, server = {} }
routers.home.transport = ROUTER
routers.vps.transport = ROUTER
links.lan = { between = ["client", "home"], rate = "1 Gbit/s" }
links.line1 = { between = ["home", "vps"], rate = "100 Mbit/s", delay = "128 ms", queue = "205 packets" }
links.line2 = { between = ["home", "vps"], rate = "100 Mbit/s", delay = "128 ms", queue = "205 packets" }
links.exit = { between = ["vps", "server"], rate = "1 Gbit/s" }
gateways.bond = { program = "PROGRAM", entry = "home", exit = "vps" }
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "60 s", reverse = REVERSE }
"""


def _relay_memory(
    folder: Path, buffer: int, *, program: str = "shadowsocks-libev", reverse: bool = False, delay: int = 128
) -> float:
    """Return the memory in GiB of a lab whose gateway has buffers of ``buffer`` MiB, and its links a delay in ms."""
    router = f'{{ tcp_rmem = ["4 KiB", "85 KiB", "{buffer} MiB"], tcp_wmem = ["4 KiB", "64 KiB", "{buffer} MiB"] }}'
    text = RELAYED.replace("ROUTER", router).replace("PROGRAM", program).replace("128 ms", f"{delay} ms")
    file = folder / "relayed.toml"
    file.write_text(text.replace("REVERSE", str(reverse).lower()))
    return memory_bytes(load(file).points[0].scenario) / GIB


def test_proxies_have_buffers_too(tmp_path: Path) -> None:
    """With 128 MiB at most, TCP's sockets used 98 MB over these lines (24011 pages, bed 10 of subramani2018), and with
    1 GiB of memory the connection stood nearly still for 200 s, in TCP's memory pressure."""
    peak = 24011 / 16000
    for reverse in (False, True):
        assert peak < _relay_memory(tmp_path, 128, reverse=reverse) < 2 * peak, "enough, and not twice as much"
    assert _relay_memory(tmp_path, 4) == 1, "the buffers are small"
    assert _relay_memory(tmp_path, 128, delay=5) == 1, "the buffers do not fill"
    assert _relay_memory(tmp_path, 128, program="openvpn") == 1, "no connection of the hosts ends at a tunnel"


def test_the_key_overrides(tmp_path: Path) -> None:
    assert _memory(tmp_path, top='memory = "1 GiB"') == 1
    assert _memory(tmp_path, rate=10, top='memory = "1536 MiB"') == 1.5
    for wrong, message in (
        ("900 MiB", "is too little"),
        ("1 TB", "is too much"),
        ("1500000001 B", "is not a whole number of MiB"),
    ):
        with pytest.raises(ScenarioError, match=message):
            _memory(tmp_path, top=f'memory = "{wrong}"')
    swept = _experiment(tmp_path, top='sweep.memory = ["1 GiB", "2 GiB"]')
    assert [memory_bytes(point.scenario) / GIB for point in swept.points] == [1, 2]


def test_limits_follow_the_memory(tmp_path: Path) -> None:
    """The limits of the usual memory are the guest's own."""
    assert {"tcp_mem": TCP_PAGES, "udp_mem": engine_memory.UDP_PAGES} == guest_machine._FIXED
    plan = compile_plan(_experiment(tmp_path, top='memory = "2 GiB"').points[0].scenario, seed=1)
    first = with_limits(plan).setup[0]
    assert first.node is None
    assert first.argv == (
        *("sysctl", "-qw"),
        "net.ipv4.tcp_mem=24000 32000 48000",
        "net.ipv4.udp_mem=48000 64000 96000",
    )
    assert with_limits(plan).setup[1:] == plan.setup


def test_the_estimate_counts_in_the_limits_that_labs_have() -> None:
    """A lab with the estimated memory restrains TCP at exactly the bytes that the estimate allows."""
    from mptcplab.plan.estimate import _TCP_SHARE

    assert TCP_PAGES[1] * 4096 == _TCP_SHARE * GIB


def test_the_kernels_parameter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The argument for 1 GiB has always been written so, and the text is mixed into random numbers."""
    from mptcplab.engine.virtual import machine

    monkeypatch.setattr(machine, "_inproc_argument", lambda _: [])
    monkeypatch.setattr(machine, "_has_seccomp", lambda _: False)
    for size, word in ((GIB, "mem=1G"), (3 * GIB // 2, "mem=1536M")):
        boot = LabBoot(kernel=None, seed=1, cpu=0, folder=tmp_path, source=tmp_path, memory=size)  # type: ignore[arg-type]
        assert _arguments(boot)[0] == word


@pytest.mark.parametrize(("free", "refused"), [(4, False), (1.5, True)])
def test_too_much_for_this_machine(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    free: float,
    refused: bool,
) -> None:
    """Before anything runs, with both sizes; a lab of the usual size is left to try."""
    monkeypatch.setattr(VirtualEngineKind, "free_memory", lambda _: int(free * GIB))
    assert list(failures._memory(_experiment(tmp_path, rate=10).runs, "virtual")) == []
    experiment = _experiment(tmp_path)
    lacks = list(failures._memory(experiment.runs, "virtual"))
    assert bool(lacks) == refused
    if refused:
        assert lacks[0].status == Exit.MISSING
        need = memory_text(memory_bytes(experiment.points[0].scenario))
        assert f"a lab needs {need} of memory, and this machine has 1.5 GiB free" in lacks[0].message
        assert "memory" in str(lacks[0].hint)
        result = output_of(monkeypatch, capsys, "run", tmp_path / "s.toml", "--out", tmp_path / "out")
        assert result.status == 3
        assert f"needs {need} of memory" in " ".join(result.err.split())
        assert not (tmp_path / "out" / "runs").exists()


def test_engines_without_a_machine_of_their_own_are_not_asked(tmp_path: Path) -> None:
    assert list(failures._memory(_experiment(tmp_path, buffer=512, rate=5000).runs, "local")) == []


def test_only_the_largest_lab_counts() -> None:
    assert [error.subject for error in find_memory_missing(2 * GIB, [GIB, 3 * GIB, 4 * GIB])] == [
        "memory for a lab of 4 GiB"
    ]
    assert list(find_memory_missing(0, [GIB])) == []
    assert list(find_memory_missing(0, [])) == []


@pytest.mark.slow
def test_labs_wait_for_each_others_memory() -> None:
    """Of 5 GiB, two labs of 2 GiB run at once, and the third when one has ended."""
    budget = MemoryBudget(5 * GIB)
    ends = [threading.Event() for _ in range(3)]
    begun = [threading.Event() for _ in range(3)]

    def run(number: int) -> None:
        with budget.reserve(2 * GIB, lambda: False):
            begun[number].set()
            assert ends[number].wait(30)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(3)]
    for number in (0, 1):
        threads[number].start()
        assert begun[number].wait(30)
    threads[2].start()
    assert not begun[2].wait(0.5)
    ends[0].set()
    assert begun[2].wait(30)
    for end in ends:
        end.set()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()


def test_usual_labs_and_a_single_large_one_never_wait() -> None:
    """As before there was a budget; a lab that is larger than the budget runs alone, and a stop ends every wait."""
    budget = MemoryBudget(GIB // 2)
    with budget.reserve(GIB, lambda: False), budget.reserve(GIB, lambda: False):
        pass
    with budget.reserve(4 * GIB, lambda: False), budget.reserve(GIB, lambda: True):
        pass


@pytest.mark.parametrize(("size", "free", "labs"), [(1, 0.5, 8), (2, 5, 2), (2, 1, 1), (2, 100, 8)])
def test_how_many_run_at_once(size: float, free: float, labs: int) -> None:
    assert labs_at_once(int(size * GIB), 8, int(free * GIB)) == labs


def test_show_states_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    experiment = _experiment(tmp_path)
    size = memory_bytes(experiment.points[0].scenario)
    out = " ".join(output_of(monkeypatch, capsys, "show", tmp_path / "s.toml").out.split())
    assert f"in labs of {memory_text(size)} of memory" in out
    document = json.loads(output_of(monkeypatch, capsys, "show", tmp_path / "s.toml", "--json").out)
    assert document["lab_memory_bytes"] == size
    _experiment(tmp_path, rate=10)
    assert "of memory" not in output_of(monkeypatch, capsys, "show", tmp_path / "s.toml").out


def test_small_buffers_need_no_search_for_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mptcplab.plan import estimate

    monkeypatch.setattr(estimate.RatedNetwork, "path_between", None)
    assert needed_bytes(_experiment(tmp_path, buffer=6).points[0].scenario) < GIB
