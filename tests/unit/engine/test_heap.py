# SPDX-License-Identifier: MIT
"""The heap of a program that starts at random addresses is moved, or the program starts as it would."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from mptcplab.engine.virtual import heap, machine
from mptcplab.engine.virtual.heap import HeapMover

#: Prints where its heap starts, and where its memory ends without a heap.
_PROGRAM = """
#include <stdio.h>
#include <unistd.h>
extern char _end;
int main(void) { printf("%lx %lx\\n", ((unsigned long)&_end + 4095) & ~4095UL, (unsigned long)sbrk(0)); return 7; }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that is linked to fixed addresses, as the lab kernel is."""
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    folder = tmp_path_factory.mktemp("program")
    (folder / "program.c").write_text(_PROGRAM)
    subprocess.run(["gcc", "-no-pie", "-o", folder / "program", folder / "program.c"], check=True)
    return folder / "program"


def _start(program: Path, command: Sequence[str | Path]) -> tuple[HeapMover, int, list[int]]:
    """Start a command that ends in ``program``: the mover, the exit status, and the two addresses."""
    mover = HeapMover(program)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=mover.prepare)
    mover.follow(process.pid)
    output, _ = process.communicate()
    return mover, process.returncode, [int(word, 16) for word in output.split()]


@pytest.mark.slow
@pytest.mark.parametrize("start", [(), ("sh", "-c", 'exec "$@"', "sh"), ("env", "sh", "-c", 'exec "$@"', "sh")])
def test_the_heap_starts_after_the_program(program: Path, start: tuple[str, ...]) -> None:
    """Also if shells come before it. Four times: a random start would be equal by chance once in 250,000."""
    for _ in range(4):
        mover, status, (end, break_) = _start(program, [*start, program])
        # The C library may have taken a piece of the heap before the program looks.
        assert end <= break_ <= end + (1 << 18), f"the heap is at {break_:#x}, the program ends at {end:#x}"
        assert (mover.has_moved, status) == (True, 7)


def test_another_program_is_left_alone(program: Path) -> None:
    mover, status, addresses = _start(program, ["sh", "-c", "exit 5"])
    assert (mover.has_moved, status, addresses) == (False, 5, [])


def test_a_signal_before_the_program_reaches_it(program: Path) -> None:
    mover, status, _ = _start(program, ["sh", "-c", "kill -TERM $$", program])
    assert (mover.has_moved, status) == (False, -15)


def test_a_heap_that_cannot_be_moved_stays(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a host kernel without CONFIG_CHECKPOINT_RESTORE, which has no such prctl()."""
    monkeypatch.setattr(heap, "_PR_SET_MM_MAP", 9999)
    mover, status, (end, _) = _start(program, [program])
    assert (mover.has_moved, status) == (False, 7)
    assert end > 0, "the program printed nothing"


def test_registers_have_the_size_of_linux() -> None:
    assert heap._Registers.rip.offset == 128, "offsetof(struct user_regs_struct, rip)"
    assert ctypes.sizeof(heap._Registers) == 216
    assert ctypes.sizeof(heap._Map) == 104, "PR_SET_MM_MAP_SIZE"


def test_a_refused_call_is_noticed(monkeypatch: pytest.MonkeyPatch, program: Path) -> None:
    kernel = type("Kernel", (), {"executable": program})()
    assert machine.starts_at_fixed_addresses(kernel)
    monkeypatch.setattr("mptcplab.engine.virtual.heap._libc.personality", lambda *_: -1, raising=False)
    assert machine.starts_at_fixed_addresses(kernel), "the heap was not moved"
    monkeypatch.setattr(heap, "_PR_SET_MM_MAP", 9999)
    assert not machine.starts_at_fixed_addresses(kernel)
