# SPDX-License-Identifier: MIT
"""The watchdog terminates labs whose virtual time has stopped or runs past the end."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from mptcplab.engine.process import ALLOWANCE_NS, GuestProcess, Watchdog, watch

SECOND = 10**9


def test_slowly_advancing_time_is_fine() -> None:
    watchdog = Watchdog(deadline_ns=100 * SECOND, stall_seconds=5)
    assert all(watchdog.check(wall_seconds=wall, virtual_ns=wall) is None for wall in range(10_000))


def test_stopped_time_is_not() -> None:
    watchdog = Watchdog(deadline_ns=100 * SECOND, stall_seconds=5)
    assert watchdog.check(wall_seconds=1, virtual_ns=SECOND) is None
    assert watchdog.check(wall_seconds=6, virtual_ns=SECOND) is None
    reason = watchdog.check(wall_seconds=6.1, virtual_ns=SECOND)
    assert reason is not None
    assert "has stopped at 1.000000 s for 5 s" in reason


def test_a_pause_that_ends_is_fine() -> None:
    watchdog = Watchdog(deadline_ns=100 * SECOND, stall_seconds=5)
    for wall, virtual in ((0, 1), (4, 1), (5, 2), (9, 2), (10, 3)):
        assert watchdog.check(wall_seconds=wall, virtual_ns=virtual) is None


def test_a_kernel_that_never_begins_is_noticed() -> None:
    watchdog = Watchdog(deadline_ns=SECOND, stall_seconds=5)
    assert watchdog.check(wall_seconds=0.3, virtual_ns=0) is None
    assert watchdog.check(wall_seconds=5.4, virtual_ns=0) is not None


def test_running_past_the_end_is_noticed() -> None:
    watchdog = Watchdog(deadline_ns=100 * SECOND)
    assert watchdog.check(wall_seconds=1, virtual_ns=100 * SECOND + ALLOWANCE_NS) is None
    reason = watchdog.check(wall_seconds=1.5, virtual_ns=101 * SECOND + ALLOWANCE_NS)
    assert reason is not None
    assert "long after the plan's end" in reason


class _StalledMachine:
    """A machine with stopped virtual time, which is off at the fourth check."""

    def __init__(self, *, stopped: bool) -> None:
        self._checks, self._stopped = 0, stopped

    def wait(self, _seconds: float, *, stop: int | None, also: tuple[int, ...]) -> bool:  # noqa: ARG002
        self._checks += 1
        return self._checks > 3

    def is_stopped(self) -> bool:
        return self._stopped

    def virtual_ns(self) -> int:
        return SECOND

    def cause_of_stall(self) -> str | None:
        return "it does too much"


@pytest.mark.parametrize(
    ("clock", "stopped"),
    [
        ((0, 1, 2, 9, 10), False),  # this process and the lab were stopped for 7 s
        ((0, 4, 8, 12, 16), True),  # the lab was stopped by SIGSTOP or a debugger
    ],
)
def test_only_time_in_which_a_lab_could_run_counts(
    monkeypatch: pytest.MonkeyPatch, clock: tuple[float, ...], stopped: bool
) -> None:
    """The limit is 5 s here."""
    ticks = iter(clock)
    monkeypatch.setattr(time, "monotonic", lambda: next(ticks))
    watchdog = Watchdog(deadline_ns=100 * SECOND, stall_seconds=5)
    assert watch(_StalledMachine(stopped=stopped), watchdog, 0.25, None) is None  # type: ignore[arg-type]


def test_a_machine_knows_why_its_time_stands_still_and_nothing_else() -> None:
    watchdog = Watchdog(deadline_ns=SECOND, stall_seconds=5)
    late = watchdog.check(wall_seconds=0, virtual_ns=2 * SECOND + ALLOWANCE_NS, cause=lambda: "it does too much")
    assert late is not None
    assert "too much" not in late, "it runs on"
    assert watchdog.check(wall_seconds=0, virtual_ns=SECOND, cause=lambda: "it does too much") is None
    stalled = watchdog.check(wall_seconds=6, virtual_ns=SECOND, cause=lambda: "it does too much")
    assert stalled == "virtual time has stopped at 1.000000 s for 5 s: it does too much"


def test_a_guest_starts_on_its_cpu_without_core_dumps(tmp_path: Path) -> None:
    """This thread is elsewhere again at once."""
    before = os.sched_getaffinity(0)
    script = "taskset --cpu-list --pid $$; ulimit -c; ulimit -H -c"
    environment = {"PATH": os.environ["PATH"]}
    with GuestProcess(["sh", "-c", script], cpus={max(before)}, folder=tmp_path, environment=environment) as process:
        assert os.sched_getaffinity(0) == before
        while not process.wait(10):
            pass
    affinity, *limits = process.console.text.splitlines()
    assert affinity.endswith(f"affinity list: {max(before)}"), affinity
    assert limits == ["0", "0"]


def test_a_process_without_output_is_waited_for_without_polling(tmp_path: Path) -> None:
    """A lab closes its console some milliseconds before it is gone; a closed pipe is readable all the time."""
    script = "echo text; exec >&- 2>&-; sleep 0.2"
    environment = {"PATH": os.environ["PATH"]}
    with GuestProcess(
        ["sh", "-c", script], cpus={min(os.sched_getaffinity(0))}, folder=tmp_path, environment=environment
    ) as process:
        waits = 1
        while not process.wait(10):
            waits += 1
    assert process.console.text == "text\n"
    assert waits <= 3, "for the text, the end of the output, and the end of the process"
