# SPDX-License-Identifier: MIT
"""Decisions with a kernel that is made up: terminals, moves, their checks, and what the daemon never does."""

from __future__ import annotations

import errno
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.steering.test_connections import JOINED, OURS, PEERS, row

from mptcplab.steering.configuration import DaemonConfig
from mptcplab.steering.connections import SteeredConnection, SteeredSubflow, connections_of
from mptcplab.steering.counters import Counters
from mptcplab.steering.policies.ratio import Ratio
from mptcplab.steering.policy import Move
from mptcplab.steering.reports import Station, StationReport
from mptcplab.steering.steerer import Steerer
from mptcplab.steering.tables import ConfigurationTable

S = 10**9
FLOOR = -90
KEY = "00" * 32
AP1, AP2 = "ap1", "ap2"


class MadeKernel:
    """Keeps subflows as rows of sampled sockets. ``dies`` are those whose commands fail; ``is_blind``: no dumps."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows, self.dies, self.is_blind = rows, set[str](), False
        self.below: list[str] = []

    def connections(self) -> list[SteeredConnection] | None:
        return None if self.is_blind else connections_of(self.rows)

    def prefer(self, token: int, subflow: SteeredSubflow, *, backup: bool) -> int:
        written = f"{subflow.remote[0]}:{subflow.remote[1]}"
        if written in self.dies:
            return errno.EINVAL
        (entry,) = (entry for entry in self.rows if (entry["token"], entry["remote"]) == (token, written))
        entry["flags"] = entry["flags"] | OURS if backup else entry["flags"] & ~OURS
        mine = [other for other in self.rows if other["token"] == token]
        assert not all(other["flags"] & OURS for other in mine), "no active subflow"
        return 0

    def active(self, token: int = 7) -> list[str]:
        return [entry["remote"] for entry in self.rows if entry["token"] == token and not entry["flags"] & OURS]


def _config(**keys: Any) -> DaemonConfig:
    given = {"listen": "0.0.0.0:9100", "period_s": 1, "floor_dbm": FLOOR, "policy": "ratio", "threshold": 1.05, **keys}
    given["access_points"] = {name: {"key": KEY} for name in (AP1, AP2)}
    allowed = ("threshold",) if given["policy"] == "ratio" else ()
    return DaemonConfig(
        ConfigurationTable({key: value for key, value in given.items() if key != "threshold" or allowed}, "test")
    )


class Bed:
    """A steerer with its made-up kernel and agents. Address ``10.0.1.1`` is at ap1, ``10.0.2.1`` at ap2, and so on."""

    def __init__(self, rows: list[dict[str, Any]], **keys: Any) -> None:
        config = _config(**keys)
        points = config.access_points
        self.kernel = MadeKernel(rows)
        self.counters = Counters(points, patience_ns=3 * S, tolerance_ns=5 * S, max_signal_age_ms=10**6)
        self.steerer = Steerer(config, self.kernel, self.counters)  # type: ignore[arg-type]
        self.second, self.total = 0, {AP1: 0, AP2: 0}

    def period(self, *received: int, rssi: tuple[int | None, int | None] = (-50, -50), sent: int = 0) -> None:
        """One second: the agents report what was received, the terminals get data over their active subflows."""
        self.second += 1
        for entry in self.kernel.rows:
            entry["bytes_sent"] += 0 if entry["flags"] & (OURS | PEERS) else sent
        for name, count, signal in zip((AP1, AP2), received, rssi, strict=True):
            self.total[name] += count
            odd = name == AP1
            addresses = sorted({entry["remote"].rpartition(":")[0] for entry in self.kernel.rows})
            mine = [address for address in addresses if int(address.split(".")[2]) % 2 == odd]
            stations = {address: Station([address], self.total[name] // len(mine), 0, signal) for address in mine}
            self.counters.take(StationReport(name, self.second * S, stations), self.second * S, self.second * S)
        self.steerer.decide(self.second * S)


def _log(capsys: pytest.CaptureFixture[str], event: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [line for line in lines if line["event"] == event]


def test_later_subflows_become_backups_and_a_crowded_access_point_loses_a_terminal() -> None:
    bed = Bed([row(1, 0), row(2, JOINED)])
    bed.steerer.settle()
    assert bed.kernel.active() == ["10.0.1.1:40001"]
    bed.period(0, 0)
    bed.period(1000, 100)
    assert bed.kernel.active() == ["10.0.2.1:40002"]
    assert bed.steerer.switches == 1


def test_a_subflow_that_joins_later_does_not_take_over() -> None:
    """Not even a subflow that comes first in the order of subflows."""
    bed = Bed([row(3, 0), row(2, JOINED | OURS)])
    bed.period(0, 0)
    bed.period(1000, 100)
    assert bed.kernel.active() == ["10.0.2.1:40002"]
    bed.kernel.rows.append(row(1, JOINED))
    bed.steerer.settle()
    assert bed.kernel.active() == ["10.0.2.1:40002"]


def test_a_daemon_that_starts_again_finds_everything_as_it_was() -> None:
    bed = Bed([row(1, OURS), row(2, JOINED), row(3, JOINED | OURS)])
    bed.steerer.settle()
    assert bed.kernel.active() == ["10.0.2.1:40002"]


def test_the_active_subflow_ends() -> None:
    """One of the backups becomes active, or the next one if that has just ended, too."""
    bed = Bed([row(1, OURS), row(2, JOINED | OURS)])
    bed.kernel.dies = {"10.0.1.1:40001"}
    bed.steerer.settle()
    assert bed.kernel.active() == ["10.0.2.1:40002"]


@pytest.mark.parametrize("signal", [FLOOR, FLOOR - 1, None])
def test_nobody_moves_to_an_access_point_that_does_not_hear_it(signal: int | None) -> None:
    bed = Bed([row(1, 0), row(2, JOINED)])
    for _ in range(3):
        bed.period(1000, 100, rssi=(-50, signal))
    assert bed.kernel.active() == ["10.0.1.1:40001"]
    assert bed.steerer.switches == 0


@pytest.mark.parametrize(("signal", "switches"), [(FLOOR, 0), (FLOOR + 1, 1)])
def test_a_policy_that_ignores_the_floor_is_not_obeyed(
    signal: int, switches: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The daemon itself checks the signal: a new policy cannot get that wrong."""
    monkeypatch.setattr(
        Ratio, "decide", lambda _, state: [Move(terminal.name, AP2) for terminal in state.terminals_at(AP1)]
    )
    bed = Bed([row(1, 0), row(2, JOINED)])
    for _ in range(3):
        bed.period(0, 0, rssi=(-50, signal))
    assert bed.steerer.switches == switches
    assert bool(_log(capsys, "kept")) == (not switches)


def test_a_counter_that_stands_still_moves_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    """Both access points have a terminal with traffic; the counter of the second has stopped."""
    bed = Bed([row(1, 0), row(2, JOINED | OURS), row(3, JOINED | OURS, token=8), row(4, 0, token=8)])
    for _ in range(4):
        for entry in bed.kernel.rows:
            entry["segs_in"] += 0 if entry["flags"] & OURS else 500
        bed.period(50_000, 0)
    assert bed.kernel.active(7) == ["10.0.1.1:40001"]
    decisions = _log(capsys, "decision")
    assert decisions[-1]["doubted"] == {AP2: {"received": 0, "packets": 500}}
    assert decisions[-1]["received"] == {AP1: 50_000}
    assert bed.steerer.switches == 0


def test_a_silent_agent_moves_nobody() -> None:
    bed = Bed([row(1, 0), row(2, JOINED)])
    bed.period(0, 0)
    for second in range(2, 8):
        station = {"a": Station(["10.0.1.1"], 1000 * second, 0, -50)}
        bed.counters.take(StationReport(AP1, second * S, station), second * S, second * S)
        bed.steerer.decide(second * S)
    assert bed.steerer.switches == 0
    assert bed.steerer.last["silent"] == [AP2]


def test_a_move_is_checked(capsys: pytest.CaptureFixture[str]) -> None:
    bed = Bed([row(1, 0), row(2, JOINED)], policy="ratio")
    bed.period(0, 0)
    bed.period(1000, 100, sent=10**6)
    bed.period(1000, 1000, sent=10**6)
    assert [(event["verdict"], event["share"]) for event in _log(capsys, "moved")] == [("moved", 1.0)]


def test_a_move_after_which_nothing_arrives_is_taken_back(capsys: pytest.CaptureFixture[str]) -> None:
    """Bytes go on over the old subflow, although it is a backup. The pair is then blocked."""
    bed = Bed([row(1, 0), row(2, JOINED)], block_s=10)
    bed.period(0, 0)
    bed.period(1000, 100)
    assert bed.kernel.active() == ["10.0.2.1:40002"]
    for _ in range(2):
        bed.kernel.rows[0]["bytes_sent"] += 10**6
        bed.period(1000, 1000)
    assert bed.kernel.active() == ["10.0.1.1:40001"]
    for _ in range(7):
        bed.period(1000, 100)
    assert bed.kernel.active() == ["10.0.1.1:40001"], "blocked"
    for _ in range(5):
        bed.period(1000, 100)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert next(line["verdict"] for line in lines if line["event"] == "moved") == "stuck"
    assert [line["why"] for line in lines if line["event"] == "switch"][:3] == ["policy", "stuck", "policy"]


def test_an_access_point_that_the_terminal_wants_as_a_backup_is_not_used() -> None:
    """The server cannot take back a flag that the terminal has set."""
    bed = Bed([row(1, 0), row(2, JOINED | PEERS)])
    for _ in range(3):
        bed.period(1000, 100)
    assert bed.steerer.switches == 0


def test_new_connections_follow_the_terminal() -> None:
    bed = Bed([row(1, OURS, sent=10**6), row(2, JOINED, sent=10**6)])
    bed.period(0, 100)
    bed.kernel.rows += [row(1, 0, token=8), row(2, JOINED, token=8)]
    bed.period(100, 100)
    bed.period(100, 100)
    assert bed.kernel.active(8) == ["10.0.2.1:40002"]
    assert bed.kernel.active(7) == ["10.0.2.1:40002"]
    assert bed.steerer.switches == 0


def test_a_kernel_that_cannot_list_its_sockets_moves_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    bed = Bed([row(1, 0), row(2, JOINED)])
    bed.period(0, 0)
    bed.kernel.is_blind = True
    bed.steerer.settle()
    bed.period(1000, 100)
    assert len(_log(capsys, "unreadable")) == 2
    assert bed.steerer.switches == 0


FLAG = st.sampled_from([0, JOINED, JOINED | OURS, OURS, JOINED | PEERS])
EVENT = st.tuples(
    st.sampled_from(["none", "close", "join", "dies", "heals"]), st.integers(0, 7), st.integers(1, 4), FLAG
)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(["ratio", "fair", "none"]),
    st.lists(
        st.tuples(
            EVENT,
            st.tuples(st.integers(0, 10**5), st.integers(0, 10**5)),
            st.tuples(st.none() | st.integers(-120, -40), st.none() | st.integers(-120, -40)),
        ),
        min_size=1,
        max_size=12,
    ),
)
def test_whatever_happens_a_connection_has_an_active_subflow(policy: str, periods: list[Any]) -> None:
    """Subflows come, end and refuse commands. :class:`MadeKernel` asserts it after every command.

    And no terminal goes to an access point that does not hear it, unless its last active subflow has ended.
    """
    bed = Bed([row(1, 0), row(2, JOINED), row(3, 0, token=8), row(4, JOINED, token=8)], policy=policy)
    for (kind, index, number, flags), received, rssi in periods:
        rows = bed.kernel.rows
        if kind == "close" and len(rows) > 1:
            rows.pop(index % len(rows))
        elif kind == "join" and not any(entry["remote"] == row(number, 0)["remote"] for entry in rows):
            rows.append(row(number, flags & ~OURS, token=7 + (number > 2)))
        elif kind == "dies":
            bed.kernel.dies.add(rows[index % len(rows)]["remote"])
        elif kind == "heals":
            bed.kernel.dies.clear()
        bed.steerer.settle()
        before = {token: bed.kernel.active(token) for token in (7, 8)}
        bed.period(*received, rssi=rssi)
        for token in (7, 8):
            for remote in set(bed.kernel.active(token)) - set(before[token]):
                signal = rssi[0 if int(remote.split(".")[2]) % 2 else 1]
                assert not before[token] or (signal is not None and signal > FLOOR), (remote, rssi)
