# SPDX-License-Identifier: MIT
"""The short form of `python -m tests.fuzz.syscalls`: its calls have the same results in both modes of the lab kernel.

MPTCPLAB_TEST_KERNEL=PATH tests another kernel than the default one.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.fuzz.syscalls.compare import compare_modes, compile_calls, run_calls
from tests.lab.bench import has_protection_keys

from mptcplab.engine.virtual.machine import has_inproc
from mptcplab.kernel import find_kernel

KERNEL = os.environ.get("MPTCPLAB_TEST_KERNEL", "7.2")
_CALLS = 20_000
#: A seed for each form of the program, which found a difference once.
_SEEDS = (104, 113)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """The compiled program in each form.

    Without protection keys it is tame: what it would damage at random addresses differs between the modes.
    """
    return compile_calls(tmp_path_factory.mktemp("calls"), tame=not has_protection_keys())


@pytest.mark.parametrize("seed", _SEEDS)
def test_the_modes_have_the_same_results(seed: int, programs: tuple[Path, ...]) -> None:
    if not has_inproc(find_kernel(KERNEL)):
        pytest.skip(f"kernel {KERNEL} cannot run user code in its own process")
    finding = compare_modes(programs, KERNEL, seed, _CALLS)
    assert finding is None, finding.reason


def test_other_seeds_have_other_results(programs: tuple[Path, ...]) -> None:
    """Otherwise the digests would say nothing."""
    first, other, again = (run_calls(programs[0], KERNEL, "off", seed, 1000) for seed in (1, 2, 1))
    assert first.status == other.status == 0, first.error + other.error
    assert first.output != other.output
    assert first == again
