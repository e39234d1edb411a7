# SPDX-License-Identifier: MIT
"""The eBPF programs, as this machine's kernel executes them, decide as the lab kernel's own files do, step by step."""

from __future__ import annotations

import os
from ctypes import CDLL
from pathlib import Path

import pytest
from tests.ebpf.replay import Kind, random_trace, replay_in_ebpf, replay_in_user_space
from tests.unit.coupled.events import compile_controls

from mptcplab.ebpf.controls import BTF
from mptcplab.ebpf.objects import CONGESTION_CONTROLS

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not BTF.is_file(), reason="only root may load eBPF programs, into a kernel with BTF"
)
_EVENTS = 4000


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> CDLL:
    """The lab kernel's files, compiled for user space."""
    return compile_controls(tmp_path_factory.mktemp("controls"))


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("control", CONGESTION_CONTROLS)
def test_every_event_leaves_the_same_window(library: CDLL, control: str, seed: int, tmp_path: Path) -> None:
    """Equal to the last bit of the fraction of a segment: both compile the same arithmetic."""
    trace = random_trace(seed, _EVENTS)
    expected = list(replay_in_user_space(library, control, trace))
    replayed = replay_in_ebpf(control, trace, tmp_path)
    different = [number for number, pair in enumerate(zip(expected, replayed, strict=True)) if pair[0] != pair[1]]
    losses = sum(event.kind in (Kind.LOSS, Kind.TIMEOUT) for event in trace)
    windows = {state.cwnd for state in expected}
    print(f"{control}: {len(trace)} events, {losses} losses, windows {min(windows)} to {max(windows)}")
    # A trace that moves no window would be equal in any case.
    assert losses > 20
    assert len(windows) > 20
    first = different[0] if different else 0
    assert not different, f"event {first}: {trace[first]}: {replayed[first]}, expected {expected[first]}"
