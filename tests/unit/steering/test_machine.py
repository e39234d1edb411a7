# SPDX-License-Identifier: MIT
"""Which kernels the daemon works on, and what older ones say of the terminals' own backups."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.steering.test_connections import JOINED, OURS, PEERS, row

from mptcplab.errors import Exit, MissingError
from mptcplab.steering.connections import SteeredConnection, connections_of
from mptcplab.steering.kernel_link import PeersFlags, check_path_manager


@pytest.mark.parametrize(
    ("files", "message", "hint"),
    [
        (None, "has no MPTCP", "5.19"),
        ({"enabled": "1\n"}, "has no path managers in user space", "5.19"),
        ({"enabled": "1\n", "pm_type": "0\n"}, "the kernel's own", "sysctl net.mptcp.pm_type=1"),
    ],
)
def test_a_machine_that_cannot_steer_is_refused(
    tmp_path: Path, files: dict[str, str] | None, message: str, hint: str
) -> None:
    settings = tmp_path / "mptcp"
    for name, text in (files or {}).items():
        settings.mkdir(exist_ok=True)
        (settings / name).write_text(text)
    with pytest.raises(MissingError, match=message) as caught:
        check_path_manager(str(settings))
    assert hint in str(caught.value.hint)
    assert caught.value.status == Exit.MISSING


def test_a_machine_that_can_steer(tmp_path: Path) -> None:
    (tmp_path / "pm_type").write_text("1\n")
    check_path_manager(str(tmp_path))


def _read(flags: PeersFlags, *subflows: int) -> list[bool]:
    """Return whether each subflow that the kernel lists with these flags is a backup of the terminal."""
    (connection,) = _list_connections(*subflows)
    flags.correct([connection])
    return [subflow.is_peers_backup for subflow in connection.subflows]


def _list_connections(*subflows: int) -> list[SteeredConnection]:
    return connections_of(row(number, subflow) for number, subflow in enumerate(subflows))


@pytest.mark.parametrize(
    ("release", "is_echo"),
    [("6.1.0-50-amd64", True), ("6.10.3", True), ("6.11", False), ("7.2.13", False), ("?", False)],
)
def test_the_release_says_what_the_flag_means_at_first(release: str, is_echo: bool) -> None:
    flags = PeersFlags(release)
    assert flags.is_echo == is_echo
    both = JOINED | OURS | PEERS
    assert _read(flags, 0, both) == [False, not is_echo]
    assert _read(flags, PEERS, JOINED) == [True, False], "what this side has not made a backup, the terminal has"


@pytest.mark.parametrize("release", ["6.1", "7.2"])
@pytest.mark.parametrize("is_echo", [True, False])
def test_what_the_kernel_does_counts_more_than_its_release(release: str, is_echo: bool) -> None:
    """Stable releases before 6.11 may have the change."""
    flags = PeersFlags(release)
    (connection,) = _list_connections(0, JOINED)
    flags.note_request(connection.token, connection.subflows[1])
    assert _read(flags, 0, JOINED | OURS | (PEERS if is_echo else 0)) == [False, False]
    assert flags.is_echo == is_echo
    # Another one, which the terminal has as a backup, too.
    assert _read(flags, 0, JOINED | OURS | PEERS) == [False, not is_echo]


def test_a_backup_of_the_terminal_says_nothing_about_the_kernel() -> None:
    flags = PeersFlags("7.2")
    (connection,) = _list_connections(0, JOINED | PEERS)
    flags.note_request(connection.token, connection.subflows[1])
    assert _read(flags, 0, JOINED | OURS | PEERS) == [False, True]
    assert not flags.is_echo
