# SPDX-License-Identifier: MIT
"""When a lab is given up."""

from __future__ import annotations

from mptcplab.engine.watchdog import ALLOWANCE_NS, Watchdog

SECOND = 10**9


def test_moving_time_is_fine_however_slow() -> None:
    watchdog = Watchdog(deadline_ns=100 * SECOND, stall_seconds=5)
    assert all(watchdog.look(wall_seconds=wall, virtual_ns=wall) is None for wall in range(10_000))


def test_standing_time_is_not() -> None:
    watchdog = Watchdog(deadline_ns=100 * SECOND, stall_seconds=5)
    assert watchdog.look(wall_seconds=1, virtual_ns=SECOND) is None
    assert watchdog.look(wall_seconds=6, virtual_ns=SECOND) is None
    said = watchdog.look(wall_seconds=6.1, virtual_ns=SECOND)
    assert said is not None
    assert "stood still at 1.000000 s for 5 s" in said


def test_a_pause_that_ends_is_fine() -> None:
    watchdog = Watchdog(deadline_ns=100 * SECOND, stall_seconds=5)
    for wall, virtual in ((0, 1), (4, 1), (5, 2), (9, 2), (10, 3)):
        assert watchdog.look(wall_seconds=wall, virtual_ns=virtual) is None


def test_a_kernel_that_never_begins_is_noticed() -> None:
    watchdog = Watchdog(deadline_ns=SECOND, stall_seconds=5)
    assert watchdog.look(wall_seconds=0.3, virtual_ns=0) is None
    assert watchdog.look(wall_seconds=5.4, virtual_ns=0) is not None


def test_running_past_the_end_is_noticed() -> None:
    watchdog = Watchdog(deadline_ns=100 * SECOND)
    assert watchdog.look(wall_seconds=1, virtual_ns=100 * SECOND + ALLOWANCE_NS) is None
    said = watchdog.look(wall_seconds=1.5, virtual_ns=101 * SECOND + ALLOWANCE_NS)
    assert said is not None
    assert "long after the plan's end" in said
