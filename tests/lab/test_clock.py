# SPDX-License-Identifier: MIT
"""The clock that programs see, through the vDSO and through system calls."""

from __future__ import annotations

import json

import pytest

from .bench import Bench, bare_plan, client

#: What one look at the clock takes: TIMER_MULTIPLIER in arch/um/include/linux/time-internal.h.
STEP_NS = 256
LOOK = """
import json, time
from time import CLOCK_BOOTTIME, CLOCK_MONOTONIC, CLOCK_REALTIME, clock_gettime_ns
looks = [time.monotonic_ns() for _ in range(1000)]
mixed = [clock_gettime_ns(clock) for clock in (CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME, CLOCK_MONOTONIC)]
before = time.monotonic_ns()
time.sleep(0.001)
slept = time.monotonic_ns() - before
start = turns = time.monotonic_ns()
while time.monotonic_ns() < start + 1_000_000:
    pass
print(json.dumps({"looks": looks, "mixed": mixed, "slept": slept}))
"""


@pytest.mark.parametrize("version", ["7.2", "6.12"])
def test_every_look_takes_the_same_time(bench: Bench, version: str) -> None:
    """Also where the vDSO has counted to its limit and makes a system call. And waiting for the clock ends."""
    lived = bench.live(bare_plan(client("look", "python3", "-IS", "-c", LOOK)), version=version)
    seen = json.loads(lived.text("look"))
    steps = {later - earlier for earlier, later in zip(seen["looks"], seen["looks"][1:], strict=False)}
    assert steps == {STEP_NS}, f"looks at the clock are {sorted(steps)} ns apart"
    monotonic, boottime, realtime, last = seen["mixed"]
    assert (boottime - monotonic, last - monotonic) == (STEP_NS, 3 * STEP_NS), seen["mixed"]
    wall = 1_735_689_600 * 10**9
    assert 0 <= realtime - wall - monotonic <= 3 * STEP_NS, f"the wall clock is {realtime - wall - monotonic} ns ahead"
    # The sleep's slack (50 us) and a few looks.
    assert 1_000_000 <= seen["slept"] <= 1_060_000, f"1 ms of sleep took {seen['slept']} ns"
