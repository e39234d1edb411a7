# SPDX-License-Identifier: MIT
"""Loading and unloading in this machine's kernel, with connections over loopback in a namespace of the test's own."""

from __future__ import annotations

import ctypes
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mptcplab.ebpf import controls
from mptcplab.ebpf.objects import CONGESTION_CONTROLS
from mptcplab.errors import InputError

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not controls.BTF.is_file(), reason="only root may load eBPF programs, into a kernel with BTF"
)
#: MPTCPLAB_CYCLES=1000 selects the long form, which takes a few minutes.
_CYCLES = int(os.environ.get("MPTCPLAB_CYCLES", "50"))
_CLONE_NEWNET = 0x40000000
_IPPROTO_MPTCP = 262
#: Programs are freed some time after the last socket has closed.
_FREED_SECONDS = 30.0
_MAX_GROWTH_KB = 8192


@pytest.fixture(params=CONGESTION_CONTROLS)
def control(request: pytest.FixtureRequest) -> Iterator[str]:
    """A congestion control that is not loaded, neither before nor after."""
    name: str = request.param
    if controls.status(name).state != "not loaded":
        pytest.skip(f"this machine has {name} already")
    yield name
    if controls.status(name).state == "loaded":
        controls.unload(name)


def _count_maps(control: str) -> int:
    """The number of maps that programs of a congestion control have in the kernel, registered or not."""
    return len(controls.find(controls.show("map", "show"), name=f"{control}.bss"))


def _wait_until(condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + _FREED_SECONDS
    while not condition() and time.monotonic() < until:
        time.sleep(0.2)
    return condition()


def _kernel_memory_kb() -> int:
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("SUnreclaim"))


class Traffic:
    """Connections with one congestion control over loopback: some short, one long."""

    def __init__(self, control: str) -> None:
        self._control = control.encode()
        self._stop = threading.Event()
        self.connections = 0
        self._listener: socket.socket | None = None
        self._threads = [threading.Thread(target=self._serve)]
        self._threads += [threading.Thread(target=self._connect, args=(hold,)) for hold in (0.02, 0.1, 3.0)]

    def __enter__(self) -> Traffic:
        self._threads[0].start()
        while self._listener is None:
            time.sleep(0.01)
        for thread in self._threads[1:]:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _serve(self) -> None:
        # A namespace of this thread's own, which the others enter by its file.
        assert ctypes.CDLL(None).unshare(_CLONE_NEWNET) == 0
        os.system("ip link set lo up")
        self._namespace = os.open(f"/proc/self/task/{threading.get_native_id()}/ns/net", os.O_RDONLY)
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM, _IPPROTO_MPTCP) as listener:
            listener.bind(("127.0.0.1", 5001))
            listener.listen(16)
            listener.settimeout(0.2)
            self._listener = listener
            while not self._stop.is_set():
                try:
                    accepted, _ = listener.accept()
                except TimeoutError:
                    continue
                threading.Thread(target=self._drain, args=(accepted,), daemon=True).start()
        os.close(self._namespace)

    @staticmethod
    def _drain(accepted: socket.socket) -> None:
        with accepted:
            while accepted.recv(1 << 16):
                pass

    def _connect(self, hold: float) -> None:
        assert ctypes.CDLL(None).setns(self._namespace, _CLONE_NEWNET) == 0
        while not self._stop.is_set():
            with socket.socket(socket.AF_INET, socket.SOCK_STREAM, _IPPROTO_MPTCP) as client:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, self._control)
                client.connect(("127.0.0.1", 5001))
                self.connections += 1
                until = time.monotonic() + hold
                while time.monotonic() < until and not self._stop.is_set():
                    client.sendall(bytes(10_000))


def test_sockets_use_it_and_are_counted(control: str) -> None:
    controls.load(control)
    with Traffic(control):
        counted = [controls.status(control).subflows or 0 for _ in range(20)]
    print(f"{control}: {max(counted)} subflows at most")
    assert max(counted) >= 1
    assert controls.status(control).uncoupled == 0
    # Each gave its place back, some after the other side has closed as well.
    assert _wait_until(lambda: controls.status(control).subflows == 0)


def test_a_loaded_one_is_refused_and_one_that_is_not_cannot_be_unloaded(control: str) -> None:
    controls.load(control)
    with pytest.raises(InputError, match="is loaded already"):
        controls.load(control)
    controls.unload(control)
    assert controls.status(control).state == "not loaded"
    with pytest.raises(InputError, match="was not loaded by mptcplab"):
        controls.unload(control)


@pytest.mark.parametrize("control", ["lia"], indirect=True)
def test_many_cycles_under_traffic_leave_nothing(control: str) -> None:
    # The kernel frees the maps of earlier tests first.
    _wait_until(lambda: _count_maps(control) == 0)
    memory, log = _kernel_memory_kb(), os.popen("dmesg | tail -1").read()
    slowest = 0.0
    with Traffic(control) as traffic:
        for _ in range(_CYCLES):
            started = time.monotonic()
            controls.load(control)
            controls.unload(control)
            slowest = max(slowest, time.monotonic() - started)
    assert _wait_until(lambda: _count_maps(control) == 0)
    grown = _kernel_memory_kb() - memory
    print(f"{_CYCLES} cycles, {traffic.connections} connections, slowest {slowest:.2f} s, {grown} kB more memory")
    assert traffic.connections > _CYCLES / 10
    assert slowest < 5
    # Memory of the kernel moves by itself; a leak of one program for each cycle would be more.
    assert grown < _MAX_GROWTH_KB
    assert os.popen("dmesg | tail -1").read() == log
