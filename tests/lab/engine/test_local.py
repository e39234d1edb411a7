# SPDX-License-Identifier: MIT
"""The engine ``local``: this machine's kernel, in namespaces that leave nothing and touch nothing outside.

This machine's kernel may have neither netem nor MPTCP. The lab kernel has both, so shaped links are tested inside it:
there ``local`` runs as it does on a machine of its own, with a clock that for once repeats.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.lab.bench import CLI, mptcplab

from mptcplab.engine.local.engine import check_needs
from mptcplab.errors import MissingError
from mptcplab.plan.compile import compile_plan
from mptcplab.scenario.load import load
from mptcplab.steps import Command

ROOT = Path(__file__).resolve().parents[3]
SHAPED = """
title = "shaped"

[topology]
preset = "disjoint-paths"

[links.link1]
rate = "20 Mbit/s"
delay = "10 ms"

[links.link2]
rate = "10 Mbit/s"
delay = "20 ms"

[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
duration = "4 s"
"""
FAILURE = """
[[events]]
at = "1 s"
type = "down"
link = "link1"
"""
PLAIN = """
title = "plain"
transport = { protocol = "tcp" }
topology = { preset = "disjoint-paths" }
workloads.bulk = { kind = "flow", from = "client", to = "server", size = "SIZE" }
"""
#: Moments of death: enough to meet each phase of a run several times.
KILLS = 50
#: SIGKILL to the command ends everything by the kernel's own means. A busy machine takes this long to schedule it.
_GONE_SECONDS = 10.0


@cache
def _require_namespaces() -> None:
    """Skip where nobody may make namespaces, as in many containers."""
    words = ["unshare", "--net", "--pid", "--mount", "--fork", "true"]
    if os.geteuid() != 0:
        words.insert(1, "--map-root-user")
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"this machine does not allow namespaces: {done.stderr.strip()}")


def _file(folder: Path, text: str) -> Path:
    file = folder / "scenario.toml"
    file.write_text(text)
    return file


def _rows(out: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((out / "results.json").read_text())["rows"]
    return rows


def _run_in_lab(folder: Path, text: str) -> dict[str, Any]:
    """Return the row of a run with ``local`` on the lab kernel, where the command itself runs, too."""
    folder.mkdir()
    _file(folder, text)
    environment = {"XDG_CACHE_HOME": "/run/out/cache", "PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    options = [word for name, value in environment.items() for word in ("--env", f"{name}={value}")]
    run = ["run", "/run/out/scenario.toml", "--engine", "local", "--out", "/run/out/results"]
    line: list[str | Path] = [
        "exec",
        *options,
        "--env",
        "PATH",
        "--out",
        folder,
        "--stall",
        "120s",
        "--no-stdin",
        "--",
        *CLI,
        *run,
    ]
    # In virtual time a run of a few seconds takes as long as its packets; the start of Python takes the most.
    done = mptcplab(*line, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = _rows(folder / "results")
    return row


def _virtual(folder: Path, text: str) -> dict[str, Any]:
    folder.mkdir()
    done = mptcplab("run", _file(folder, text), "--out", folder / "results")
    assert done.returncode == 0, done.stderr
    (row,) = _rows(folder / "results")
    return row


@pytest.mark.parametrize(
    "text",
    [
        SHAPED,
        SHAPED + FAILURE,
        SHAPED.replace('"10 ms"', '"10 ms"\nextra_delay = ["0 ms", "1 ms", "2 ms"]'),
        'family = "ipv6"\n' + SHAPED,
    ],
    ids=["steady", "failure", "table-of-delays", "ipv6"],
)
def test_same_kernel_gives_the_same_result(tmp_path: Path, text: str) -> None:
    """One kernel under both engines: what differs is when programs run, by the time of a process switch.

    2 % of goodput and 3 % of shares are the bounds that the project sets between engines.
    """
    local, virtual = _run_in_lab(tmp_path / "local", text), _virtual(tmp_path / "virtual", text)
    ratio = local["goodput_mbps"]["mean"] / virtual["goodput_mbps"]["mean"]
    print(f"goodput {ratio:.4f} of virtual; {local['shares']} against {virtual['shares']}")
    assert abs(ratio - 1) < 0.02
    assert local["mptcp"] == virtual["mptcp"] == "2 subflows"
    for path, share in virtual["shares"].items():
        assert abs(local["shares"][path] - share) < 0.03, path
    assert (local["time"], virtual["time"]) == ("real", "virtual")


def test_missing_part_of_the_kernel_is_named_with_its_link(tmp_path: Path) -> None:
    _require_namespaces()
    text = PLAIN.replace("SIZE", "1 MB")
    plan = compile_plan(load(_file(tmp_path, text)).points[0].scenario, seed=1)
    shaper = Command("r1", ("tc", "qdisc", "add", "dev", "link1", "root", "nosuch"), features=("nosuch",))
    with pytest.raises(MissingError, match=r"lacks: nosuch, needed by r1\n") as caught:
        check_needs(replace(plan, setup=(*plan.setup, shaper)))
    assert "sch_nosuch" in str(caught.value.hint)


def _state_of_this_machine() -> dict[str, str]:
    words = {
        "settings": ["sysctl", "-a", "--pattern", r"^net\."],
        "interfaces": ["ip", "-json", "address"],
        "routes": ["ip", "route", "show", "table", "all"],
        "namespaces": ["ip", "netns", "list"],
    }
    state = {name: subprocess.run(line, capture_output=True, text=True).stdout for name, line in words.items()}
    mounts = Path("/proc/self/mountinfo").read_text()
    # Neighbours' timers and the counts of running measurements change by themselves.
    settings = [line for line in state["settings"].splitlines() if "nf_conntrack_count" not in line]
    return {**state, "settings": "\n".join(settings), "mounts": mounts}


def test_nothing_outside_is_touched(tmp_path: Path) -> None:
    _require_namespaces()
    before = _state_of_this_machine()
    changed = 'protocol = "tcp", sysctl = { "net.ipv4.tcp_slow_start_after_idle" = 0 } }'
    text = PLAIN.replace("SIZE", "5 MB").replace('protocol = "tcp" }', changed)
    done = mptcplab("run", _file(tmp_path, text), "--engine", "local", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    (row,) = _rows(tmp_path / "out")
    assert row["time"] == "real"
    assert row["kernel"] == os.uname().release
    after = _state_of_this_machine()
    for name, value in before.items():
        assert after[name] == value, f"{name} changed"
    assert not _processes(tmp_path)


def _processes(folder: Path) -> dict[int, str]:
    """Return every process that names ``folder`` or has it mounted: what runs in a lab has its results as a mount."""
    processes = {}
    for place in Path("/proc").glob("[0-9]*"):
        if int(place.name) == os.getpid():
            continue
        try:
            words = (place / "cmdline").read_bytes().decode(errors="replace")
            if str(folder) in words or str(folder) in (place / "mountinfo").read_text():
                processes[int(place.name)] = words.replace("\0", " ")[:80]
        except OSError:
            continue
    return processes


def test_nothing_stays_when_it_is_killed(tmp_path: Path) -> None:
    """SIGKILL at random moments, from the start of Python to the middle of a transfer that would last for minutes."""
    _require_namespaces()
    file = _file(tmp_path, PLAIN.replace("SIZE", "1 TB"))
    before, rng, running = _state_of_this_machine(), random.Random(1), 0
    for number in range(KILLS):
        out = tmp_path / f"out{number}"
        command = subprocess.Popen(
            [*CLI, "run", str(file), "--engine", "local", "--out", str(out)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(rng.uniform(0.3, 2.5))
        running += len(_processes(out)) > 1
        assert command.poll() is None, f"the run ended by itself, with {command.returncode}"
        command.send_signal(signal.SIGKILL)
        command.wait()
        end = time.monotonic() + _GONE_SECONDS
        while left := _processes(out):
            assert time.monotonic() < end, f"after kill {number} there still are {left}"
            time.sleep(0.02)
        assert not list(out.glob("runs/*/manifest.json"))
        shutil.rmtree(out, ignore_errors=True)
    print(f"in {running} of {KILLS} kills the lab had started")
    assert running >= KILLS // 4, running
    after = _state_of_this_machine()
    for name, value in before.items():
        assert after[name] == value, f"{name} changed"


def test_next_command_goes_on_after_a_kill(tmp_path: Path) -> None:
    _require_namespaces()
    out, file = tmp_path / "out", _file(tmp_path, PLAIN.replace("SIZE", "1 TB"))
    command = subprocess.Popen(
        [*CLI, "run", str(file), "--engine", "local", "--out", str(out)], stdout=sys.stderr, stderr=sys.stderr
    )
    time.sleep(1.5)
    command.kill()
    command.wait()
    file.write_text(PLAIN.replace("SIZE", "1 MB"))
    done = mptcplab("run", file, "--engine", "local", "--out", out)
    assert done.returncode == 0, done.stderr
    assert not list(out.glob(".work/tmp/*")), "the killed run's folder stays"
