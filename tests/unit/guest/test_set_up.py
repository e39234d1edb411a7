# SPDX-License-Identifier: MIT
"""The order in which the guest executes commands, and which of them it gives to one program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mptcplab.guest import instants, set_up
from mptcplab.guest.nodes import GuestError
from mptcplab.guest.set_up import SetUp


class Place:
    """A namespace in which the guest itself executes every ``link``, except on ``refused`` interfaces."""

    def __init__(self, node: str | None, done: list[str]) -> None:
        self._node, self._done = node, done
        self.prepared = 0

    def prepare(self, argv: list[str]) -> Callable[[], None] | None:
        if argv[1] != "link":
            return None
        self.prepared += 1

        def execute() -> None:
            if "refused" in argv:
                raise OSError
            self._done.append(f"guest on {self._node}: {' '.join(argv)}")

        return execute


class Nodes:
    """Notes the programs that are started, which fail with ``answer``."""

    def __init__(self, answer: tuple[int, bytes, bytes] = (0, b"", b"")) -> None:
        self.done: list[str] = []
        self.places: dict[str | None, Place] = {}
        self._answer = answer

    def place(self, node: str | None) -> Place:
        return self.places.setdefault(node, Place(node, self.done))

    def run_program(self, node: str | None, argv: list[str], *, text: str = "") -> tuple[int, bytes, bytes]:
        self.done.append(f"{node}: {' '.join(argv)}" + "".join(f" | {line}" for line in text.splitlines()))
        return self._answer


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The steps of time between commands."""
    calls: list[int] = []
    monkeypatch.setattr(instants, "sleep_to_next", lambda step_ns: calls.append(step_ns))
    return calls


def _run(nodes: Nodes, *lines: tuple[str | None, str]) -> None:
    commands: list[dict[str, Any]] = [{"node": node, "argv": line.split()} for node, line in lines]
    SetUp(nodes).run(commands)  # type: ignore[arg-type]


def test_batches_join_what_one_program_can_read(steps: list[int]) -> None:
    nodes = Nodes()
    _run(
        nodes,
        (None, "ip x a"),
        (None, "ip x b"),
        ("c", "ip route 1"),
        ("c", "ip -6 rule 2"),
        ("c", "ip -6 rule 3"),
        ("c", "ip route 4"),
        ("c", "tc qdisc add"),
        ("c", "sysctl -qw x"),
        ("c", "sysctl -qw y"),
    )
    assert nodes.done == [
        "None: ip -batch - | x a | x b",
        "c: ip route 1",
        "c: ip -6 -batch - | rule 2 | rule 3",
        "c: ip route 4",
        "c: tc qdisc add",
        "c: sysctl -qw x",
        "c: sysctl -qw y",
    ]
    assert steps == [instants.COMMAND_STEP_NS] * 7, "each program starts at an instant of its own"


def test_the_guest_keeps_the_order(steps: list[int]) -> None:
    """It waits for the commands before, and looks up again the interfaces that a program may have changed."""
    nodes = Nodes()
    _run(nodes, (None, "ip link 1"), (None, "ip link 2"), (None, "ip x 3"), (None, "ip link 4"), ("c", "ip link 5"))
    assert nodes.done == [
        "guest on None: ip link 1",
        "guest on None: ip link 2",
        "None: ip x 3",
        "guest on None: ip link 4",
        "guest on c: ip link 5",
    ]
    assert nodes.place(None).prepared == 4, "the one behind the program is prepared twice"
    assert len(steps) == 4, "a row of the guest's own commands on one node is one step"


def test_a_command_that_the_kernel_refuses_is_left_to_the_program(steps: list[int]) -> None:
    nodes = Nodes((1, b"", b"RTNETLINK answers: File exists\n"))
    with pytest.raises(GuestError) as caught:
        _run(nodes, ("c", "ip link refused"), ("c", "ip link 2"))
    assert str(caught.value) == ("a command failed: ip netns exec c ip link refused: RTNETLINK answers: File exists")
    assert nodes.done == ["c: ip link refused"]
    assert steps


@pytest.mark.usefixtures("steps")
def test_an_error_names_the_command_of_a_batch() -> None:
    nodes = Nodes((1, b"", b"Cannot find device\nCommand failed -:2\n"))
    with pytest.raises(GuestError, match="a command failed: ip x 'b c': Cannot find device"):
        SetUp(nodes).run([{"node": None, "argv": ["ip", "x", word]} for word in ("a", "b c")])  # type: ignore[arg-type]


@pytest.mark.parametrize(("errors", "line"), [(b"Oops\nCommand failed -:2\n", 1), (b"no number", 0), (b"x:99", 0)])
def test_failed_command_of_a_batch(errors: bytes, line: int) -> None:
    batch = [["ip", "a"], ["ip", "b"]]
    assert set_up._failed_command(batch, errors) == batch[line]
