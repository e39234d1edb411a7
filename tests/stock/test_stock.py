# SPDX-License-Identifier: MIT
"""A stock kernel executes the plans of the lab kernel, and every run repeats."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from tests.stock.conftest import Measure

from mptcplab.engine.stock.machine import StockMachine
from mptcplab.kernel.stock import find_stock

CPU_THREAD = "/TCG"
_START_SECONDS = 60.0
SHORT = ("workloads.bulk.duration=3 s",)


def _files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def _has_cpu_thread(process: int) -> bool:
    names = (file.read_text().strip() for file in Path(f"/proc/{process}/task").glob("*/comm"))
    return any(CPU_THREAD in name for name in names)


def test_goodput_is_near_that_of_the_lab_kernel(measure: Measure) -> None:
    """With a burst of 15 kB: with the smallest, a CPU that takes time loses about 2 % of the rate.

    The bound, 2 % of the lab kernel, is what docs/fidelity.md compares all goodputs by.
    """
    burst = ("links.link1.burst=15 kB", "links.link2.burst=15 kB")
    shares = {}
    for engine, kernel in (("stock", ()), ("virtual", ("kernel=6.12",))):
        done = measure(engine, *burst, *kernel, name=engine)
        assert done.result is not None
        (workload,) = done.result.measured
        shares[engine] = workload.metrics["goodput_mbps"]
    ratio = shares["stock"] / shares["virtual"]
    print(f"goodput: {shares['stock']:.1f} and {shares['virtual']:.1f} Mbit/s, ratio {ratio:.4f}")
    assert 0.98 < ratio < 1.02


@pytest.mark.parametrize("engine", ["stock", "stock:6.12,cpus=2"])
def test_two_runs_are_equal_to_the_byte(measure: Measure, engine: str) -> None:
    first, second = (measure(engine, *SHORT, name=name) for name in ("first", "second"))
    assert first.folder is not None
    assert second.folder is not None
    assert first.folder.name == second.folder.name
    assert _files(first.folder) == _files(second.folder)


def test_ten_seconds_take_less_than_a_minute(measure: Measure) -> None:
    """What is wanted of the engine, on one CPU that has nothing else to do: here with 100 % for other work."""
    started = os.times()
    began = time.monotonic()
    measure("stock")
    ended = os.times()
    cpu = ended.children_user + ended.children_system - started.children_user - started.children_system
    print(f"{cpu:.1f} s of CPU, {time.monotonic() - began:.1f} s")
    assert cpu < 60


def test_a_machine_boots_in_seconds(measure: Measure) -> None:
    """Boot, set-up and 100 ms of traffic: 6 s of CPU are wanted, and on a busy machine it takes twice as much."""
    started = os.times()
    measure("stock", "workloads.bulk.duration=100 ms")
    ended = os.times()
    cpu = ended.children_user + ended.children_system - started.children_user - started.children_system
    print(f"{cpu:.1f} s of CPU")
    assert cpu < 12


def test_an_image_with_a_path_is_as_good_as_a_version(measure: Measure, tmp_path: Path) -> None:
    kernel = find_stock("6.12")
    image = tmp_path / "boot" / "vmlinuz"
    image.parent.mkdir()
    image.symlink_to(kernel.image.with_name("vmlinuz"))
    assert kernel.modules is not None
    (tmp_path / "lib/modules").mkdir(parents=True)
    (tmp_path / "lib/modules" / kernel.release).symlink_to(kernel.modules)
    done = measure(f"stock:{image}", *SHORT)
    assert done.result is not None
    assert done.result.kernel == kernel.release


def test_an_interrupted_run_leaves_nothing(measure: Measure, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for a killed one: the host's kernel kills QEMU with its parent."""
    from mptcplab.engine.stock import engine

    processes: list[int] = []

    def interrupt(machine: StockMachine, *_: object) -> None:
        # The programs that start QEMU replace each other first. turns.c finds the CPU's thread by its name: without
        # such a thread, the library does nothing.
        until = time.monotonic() + _START_SECONDS
        while not _has_cpu_thread(machine.pid) and time.monotonic() < until:
            machine.wait(0.05)
        assert _has_cpu_thread(machine.pid)
        processes.append(machine.pid)
        raise KeyboardInterrupt

    monkeypatch.setattr(engine, "watch", interrupt)
    with pytest.raises(KeyboardInterrupt):
        measure("stock", *SHORT)
    assert not Path(f"/proc/{processes[0]}").exists()
