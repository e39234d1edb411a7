# SPDX-License-Identifier: MIT
"""Programs that can run at one instant run in their order, whatever else the machine has, and share the CPU.

docs/decisions/0019-order-of-tasks.md has the model, and what happened without it.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from tests.lab.bench import mptcplab

from mptcplab.engine.virtual.machine import INPROC

SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#: Each process starts another program, looks at the clock and prints its number. At last the clock is printed.
HUNDRED = 'for i in $(seq 100); do sh -c "date +%N > /tmp/now; echo $i" & done; wait; date +%s.%N'
#: Three copy 60,000 bytes by as many calls, without a sleep; a fourth, started last, makes a few dozen calls.
_COPY = "dd if=/dev/zero of=/dev/null bs=1 count=60000 2> /dev/null"
SLICES = f'for i in 1 2 3; do sh -c "{_COPY}; echo $i" & done; sh -c "sleep 0; echo quick" & wait; date +%s.%N'


def _run(script: str, *options: str | Path, mode: str = "") -> str:
    """Return what a shell script prints in the lab. ``mode`` chooses where its programs run, see decision 0021."""
    env = {INPROC: mode} if mode else None
    done = mptcplab("exec", "--no-stdin", *options, "--", "bash", "-c", script, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _variables(values: dict[str, str]) -> list[str | Path]:
    return [word for name, value in values.items() for word in ("--env", f"{name}={value}")]


@pytest.fixture
def other_machines(tmp_path: Path) -> dict[str, list[str | Path]]:
    """Options of `mptcplab exec` that make the machine look unlike this one, by what is different."""
    folder = tmp_path / "more"
    folder.mkdir()
    for number in range(500):
        (folder / f"program-{number}").touch(mode=0o755)
    missing = ":".join(f"/no/such/folder/{number}" for number in range(40))
    return {
        "a longer search path": _variables({"PATH": f"{missing}:{SEARCH_PATH}"}),
        "a larger environment": _variables({f"UNUSED_{number}": "x" * 200 for number in range(200)}),
        "more programs": ["--expose", folder, *_variables({"PATH": f"{folder}:{SEARCH_PATH}"})],
    }


def test_a_hundred_processes_run_in_the_order_of_their_starts(other_machines: dict[str, list[str | Path]]) -> None:
    """And finish at the same nanosecond on all machines.

    Before, 36 of 4,950 pairs were in the wrong order here, and 3,402 with the longer search path, since each failed
    search moved the clock, and a process that ran at the wrong time was charged for all of them.
    """
    here = _run(HUNDRED)
    *numbers, end = here.split()
    wrong = sum(int(first) > int(second) for first, second in itertools.combinations(numbers, 2))
    assert (len(numbers), wrong) == (100, 0), f"{len(numbers)} processes, {wrong} pairs in the wrong order"
    for difference, options in other_machines.items():
        there = _run(HUNDRED, *options)
        assert there == here, f"{difference}: ends at {there.split()[-1]}, not {end}"


def test_a_process_that_goes_on_lets_others_run() -> None:
    *printed, _ = _run(SLICES).split()
    assert printed == ["quick", "1", "2", "3"]


def test_waiting_for_a_file_without_a_sleep_ends() -> None:
    """Failed searches take no time, except in a program that does nothing else."""
    script = "(sleep 0.05; touch /tmp/file) & until [ -e /tmp/file ]; do :; done; date +%s%N"
    start, end = (int(_run(text)) for text in ("date +%s%N", script))
    assert 50 <= (end - start) / 1e6 < 52, (
        f"{(end - start) / 1e6:.3f} ms after the start, where the file comes at 50 ms"
    )


def test_a_program_for_each_look_at_a_file_makes_time_pass() -> None:
    """In 3 ms a shell looks 973 times: some 800 looks make 100,000 calls, and each one after these takes 17 us.

    If only the calls of one program counted, it would look 2,932 times.
    """
    look = "until /usr/bin/test -e /tmp/file; do looks=$((looks + 1)); done; echo $looks"
    looks = int(_run(f"sh -c '(sleep 0.003; touch /tmp/file) & {look}'"))
    assert looks < 1500, f"{looks} looks in 3 ms"


@pytest.mark.parametrize("script", [HUNDRED, SLICES], ids=["a hundred", "slices"])
def test_the_order_is_the_same_in_the_kernels_process(script: str) -> None:
    """System calls count as much there as in a stub; nothing else of the other way has an influence."""
    there, here = (_run(script, mode=mode) for mode in ("on", "off"))
    assert there == here
