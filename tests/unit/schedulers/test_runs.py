# SPDX-License-Identifier: MIT
"""Which subflows carry which data (`sched_runs.c`), against a model that notes it byte by byte."""

from __future__ import annotations

import re
from collections.abc import Sequence
from ctypes import CDLL, POINTER, byref, c_int, c_uint32, c_uint64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.compiler import compile_c

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
SOURCE = HERE.parents[2] / "kernel" / "net" / "mptcp" / "sched_runs.c"
WARNINGS = ["-O1", "-Wall", "-Wextra", "-Werror", "-std=gnu11"]
#: Sequence numbers wrap within every example.
START = 2**64 - 20

#: A subflow is given what follows; or data again, from the left edge or later; or the peer acknowledges some.
Step = tuple[str, int, int, int]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.integers(1, 3), st.integers(1, 12), st.just(0)),
        st.tuples(st.just("again"), st.integers(1, 3), st.integers(1, 12), st.integers(0, 30)),
        st.tuples(st.just("acked"), st.just(0), st.integers(1, 15), st.just(0)),
    ),
    max_size=60,
)


class Runs:
    """The list of C."""

    def __init__(self, library: Path) -> None:
        self._library = CDLL(str(library))
        self._library.test_note.argtypes = [c_uint32, c_uint64, c_uint32]
        self._library.test_start.argtypes = [c_uint64]
        self._library.test_left_edge.argtypes = [c_uint64, POINTER(c_uint64)]
        self._library.test_left_edge.restype = c_uint32
        self._library.test_lost.argtypes = [c_uint32] * 4 + [POINTER(c_uint64)]
        self._library.test_lost.restype = c_uint32
        self._fail_after = c_int.in_dll(self._library, "fail_after")

    @property
    def live(self) -> int:
        """Runs that are allocated."""
        return c_int.in_dll(self._library, "live_runs").value

    def repeatable_segments(
        self, given: Sequence[tuple[int, int]], lost: set[int], *, room: int, mss: int, at: int
    ) -> tuple[int, int]:
        """Return the segments that subflow 0 may repeat from the byte ``at`` on, and the first byte of these.

        ``given`` has the subflow and the number of bytes of each piece of data, in order.
        """
        self._library.test_start(START)
        self._fail_after.value = -1
        begin = 0
        for subflow, count in given:
            self._library.test_note(subflow, (START + begin) % 2**64, count)
            begin += count
        seq = c_uint64((START + at) % 2**64)
        segments = self._library.test_lost(sum(1 << number for number in lost), 0, room, mss, byref(seq))
        self._library.test_forget()
        return segments, (seq.value - START) % 2**64

    def play(self, steps: Sequence[Step], *, memory: int = -1) -> list[tuple[set[int], list[set[int]]]]:
        """Return the carriers of the left edge after each step: of the list, and as they are, for each byte of the run.

        Nothing is left over.
        """
        model: dict[int, set[int]] = {}
        una = end = 0
        choices = []
        self._library.test_start(START)
        self._fail_after.value = memory
        for what, subflow, count, aside in steps:
            if what == "acked":
                una = min(una + count, end)
            else:
                begin = end if what == "send" else min(una + aside, end)
                count = count if what == "send" else min(count, end - begin)
                for byte in range(begin, begin + count):
                    model.setdefault(byte, set()).add(subflow)
                end = max(end, begin + count)
                if count:
                    self._library.test_note(subflow, (START + begin) % 2**64, count)
            length = c_uint64(0)
            mask = self._library.test_left_edge((START + una) % 2**64, byref(length))
            said = {bit for bit in range(32) if mask & 1 << bit}
            assert bool(length.value) == bool(said), (mask, length.value)
            assert una + length.value <= end, (una, length.value, end)
            covered = range(una, una + max(length.value, 1))
            choices.append((said, [set(model.get(byte, ())) for byte in covered]))
            if memory < 0:
                assert self.live <= max(end - una, 0), "a run has a byte at least"
        self._library.test_forget()
        assert self.live == 0
        return choices


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """The list, compiled with the sanitisers for undefined behaviour."""
    folder = tmp_path_factory.mktemp("runs")
    text = re.sub(r"^#include .*\n", "", SOURCE.read_text(), flags=re.MULTILINE)
    (folder / "runs.inc").write_text(text)
    made = folder / "runs.so"
    command = ["gcc", *WARNINGS, "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error", "-fPIC", "-shared"]
    compile_c([*command, "-I", str(folder), str(HERE / "runs.c"), "-o", str(made)])
    return Runs(made)


@given(steps=STEPS)
def test_the_left_edge_is_carried_by_who_was_given_it(runs: Runs, steps: list[Step]) -> None:
    for number, (said, true) in enumerate(runs.play(steps)):
        assert all(said == carriers for carriers in true), f"after step {number + 1} of {steps}: {said}, {true}"


@given(steps=STEPS, memory=st.integers(0, 10))
def test_without_memory_nobody_is_said_to_carry_what_it_does_not(runs: Runs, steps: list[Step], memory: int) -> None:
    for number, (said, true) in enumerate(runs.play(steps, memory=memory)):
        assert all(said <= carriers for carriers in true), f"after step {number + 1} of {steps}, {memory} allocations"


def test_an_example(runs: Runs) -> None:
    """The slow subflow 2 has the left edge; 1 repeats it; then the next byte is 2's alone."""
    steps = [("send", 2, 3, 0), ("send", 1, 9, 0), ("again", 1, 1, 0), ("acked", 0, 1, 0), ("acked", 0, 2, 0)]
    assert [said for said, _ in runs.play(steps)] == [{2}, {2}, {1, 2}, {2}, {1}]


@given(
    given=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 12)), min_size=1, max_size=12),
    lost=st.sets(st.integers(1, 3)),
    room=st.integers(0, 5),
    mss=st.integers(1, 5),
    at=st.integers(0, 40),
)
def test_what_only_subflows_after_a_timeout_carry_may_be_repeated(
    runs: Runs, given: list[tuple[int, int]], lost: set[int], room: int, mss: int, at: int
) -> None:
    """The first byte from ``at`` on that none but these carry, and as many segments as follow and have room."""
    carriers = [subflow for subflow, count in given for _ in range(count)]
    segments, first = runs.repeatable_segments(given, lost, room=room, mss=mss, at=at)
    expected = next((byte for byte in range(at, len(carriers)) if carriers[byte] in lost), None)
    if expected is None or not room:
        assert segments == 0
        return
    assert first == expected
    end = next((byte for byte in range(first, len(carriers)) if carriers[byte] != carriers[first]), len(carriers))
    assert segments == min(room, -((first - end) // mss))
