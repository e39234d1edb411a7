# SPDX-License-Identifier: MIT
"""Lost messages of the kernel: of events, of the answer to a command, of a list of sockets."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from typing import Any

import pytest
from tests.unit.steering.test_connections import row

from mptcplab.steering import kernel_link
from mptcplab.steering.connections import connections_of
from mptcplab.steering.kernel_link import KernelLink

LOST = OSError(errno.ENOBUFS, "No buffer space available")


class MadeKernel:
    """The kernel's interface; the next call raises ``fails``, once."""

    made: list[MadeKernel]
    fails: OSError | None = None

    def __init__(self) -> None:
        self.is_closed = False
        self.notices = self
        MadeKernel.made.append(self)

    def close(self) -> None:
        self.is_closed = True

    def fileno(self) -> int:
        return id(self)

    def _fail(self) -> None:
        error, MadeKernel.fails = MadeKernel.fails, None
        if error is not None:
            raise error

    def events(self) -> Iterator[Any]:
        self._fail()
        return iter(())

    def prefer(self, *_: Any, backup: bool) -> int:
        self._fail()
        return errno.EINVAL if backup else 0


@pytest.fixture
def link(monkeypatch: pytest.MonkeyPatch) -> KernelLink:
    MadeKernel.made, MadeKernel.fails = [], None
    monkeypatch.setattr(kernel_link, "Kernel", MadeKernel)
    return KernelLink()


def test_lost_events_open_a_new_socket_and_count_as_a_change(link: KernelLink) -> None:
    before = link.fileno()
    assert not link.have_subflows_changed()
    MadeKernel.fails = LOST
    assert link.have_subflows_changed()
    assert link.fileno() != before
    assert link.overruns == 1
    assert not link.have_subflows_changed()


def test_another_error_of_events_is_none_to_go_on_with(link: KernelLink) -> None:
    MadeKernel.fails = OSError(errno.EBADF, "Bad file descriptor")
    with pytest.raises(OSError, match="Bad file"):
        link.have_subflows_changed()


def test_a_lost_answer_is_an_error_and_the_next_command_has_its_own_socket(link: KernelLink) -> None:
    (subflow,) = connections_of([row(1, 0)])[0].subflows
    assert (link.prefer(7, subflow, backup=False), link.prefer(7, subflow, backup=True)) == (0, errno.EINVAL)
    count = len(MadeKernel.made)
    MadeKernel.fails = LOST
    assert link.prefer(7, subflow, backup=False) == errno.ENOBUFS
    assert len(MadeKernel.made) == count + 1
    assert link.prefer(7, subflow, backup=False) == 0


@pytest.mark.parametrize(("failures", "listed"), [(0, True), (2, True), (3, False)])
def test_a_list_of_sockets_is_asked_for_again(
    link: KernelLink, monkeypatch: pytest.MonkeyPatch, failures: int, listed: bool
) -> None:
    """Each time with a new socket: the rest of a broken answer would be read as the next one."""
    samplers: list[str] = []

    class MadeSampler:
        def __init__(self, node: str) -> None:
            samplers.append(node)

        def sample(self, _: int) -> Iterator[dict[str, Any]]:
            yield row(1, 0)
            if len(samplers) <= failures:
                raise LOST

    monkeypatch.setattr(kernel_link, "SocketSampler", MadeSampler)
    connections = link.connections()
    assert len(samplers) == min(failures + 1, 3)
    assert (connections is not None) == listed
    assert link.overruns == failures
    if connections is not None:
        assert [len(connection.subflows) for connection in connections] == [1]


def test_our_own_backups_are_not_the_terminals(link: KernelLink, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a kernel that sets both flags when this side sends MP_PRIO."""

    class MadeSampler:
        flags = 4

        def __init__(self, node: str) -> None:
            del node

        def sample(self, _: int) -> Iterator[dict[str, Any]]:
            yield row(1, 0)
            yield row(2, MadeSampler.flags)

    monkeypatch.setattr(kernel_link, "SocketSampler", MadeSampler)
    monkeypatch.setattr(MadeKernel, "prefer", lambda *_, backup: 0 if backup else errno.EINVAL)
    (connection,) = link.connections() or []
    assert link.prefer(7, connection.subflows[1], backup=True) == 0
    MadeSampler.flags = 4 | 16 | 32
    (connection,) = link.connections() or []
    assert [subflow.is_peers_backup for subflow in connection.subflows] == [False, False]
