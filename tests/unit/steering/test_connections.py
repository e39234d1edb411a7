# SPDX-License-Identifier: MIT
"""Priorities of subflows: however many commands fail, a connection is never left without an active subflow."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mptcplab.steering.connections import Change, SteeredConnection, carry_out, changes_to, connections_of

JOINED, PEERS, OURS = 4, 16, 32


def row(number: int, flags: int, *, token: int = 7, state: int = 1, sent: int = 0, packets: int = 0) -> dict[str, Any]:
    """Return a sampled socket of a subflow to the terminal's address ``number``."""
    return {
        "local": "10.9.0.1:5001",
        "remote": f"10.0.{number}.1:{40000 + number}",
        "protocol": "mptcp",
        "state": state,
        "token": token,
        "flags": flags,
        "bytes_sent": sent,
        "segs_in": packets,
    }


def _connection(flags: list[int]) -> SteeredConnection:
    return connections_of(row(number, flag) for number, flag in enumerate(flags))[0]


FLAGS = st.lists(
    st.sampled_from([0, JOINED, JOINED | OURS, OURS, JOINED | PEERS, OURS | PEERS]), min_size=1, max_size=4
)


@given(FLAGS, st.data())
def test_a_connection_keeps_an_active_subflow(flags: list[int], data: st.DataObject) -> None:
    """At every instant, if it had one: MP_PRIO for another one is sent first, and may fail."""
    connection = _connection(flags)
    keep = data.draw(st.sampled_from(connection.subflows))
    is_backup = {subflow.ends: subflow.is_backup for subflow in connection.subflows}
    had_one = not all(is_backup.values())

    def send(change: Change) -> int:
        error = data.draw(st.sampled_from([0, 0, 22]))
        if not error:
            is_backup[change.subflow.ends] = change.backup
        assert not had_one or not all(is_backup.values()), "no active subflow"
        return error

    error = carry_out(changes_to(connection, keep), send)
    assert {subflow.ends: subflow.is_backup for subflow in connection.subflows} == is_backup, (
        "the model is what the kernel has"
    )
    if not error:
        assert [subflow.ends for subflow in connection.subflows if not subflow.is_backup] == [keep.ends]


def test_the_first_subflow_comes_first_and_the_peers_backups_last() -> None:
    connection = _connection([JOINED, 0, JOINED | PEERS])
    assert [subflow.remote[0] for subflow in connection.subflows] == ["10.0.1.1", "10.0.0.1", "10.0.2.1"]
    assert [subflow.remote[0] for subflow in connection.active] == ["10.0.1.1", "10.0.0.1"]
    only = _connection([PEERS, JOINED | OURS])
    assert [subflow.remote[0] for subflow in only.active] == ["10.0.0.1"], "the terminal's flag is its own"


def test_sockets_that_cannot_send_are_left_out() -> None:
    rows = [row(1, 0), row(2, JOINED, state=8), row(3, JOINED, state=2), {**row(4, JOINED), "protocol": "tcp"}]
    del (other := row(5, 0))["token"]
    (connection,) = connections_of([*rows, other])
    assert [subflow.remote for subflow in connection.subflows] == [("10.0.1.1", 40001), ("10.0.2.1", 40002)]


def test_addresses_of_both_families() -> None:
    six = {**row(1, 0), "remote": "[fd00::1]:443"}
    assert connections_of([six])[0].subflows[0].remote == ("fd00::1", 443)
