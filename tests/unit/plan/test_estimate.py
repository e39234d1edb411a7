# SPDX-License-Identifier: MIT
"""What runs are likely to cost: within a factor of three of what they did cost where that was measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from mptcplab.plan.estimate import estimate_seconds, expected_seconds
from mptcplab.scenario.load import load

ROOT = Path(__file__).resolve().parents[3]
STUDIES = ROOT / "src" / "mptcplab" / "studies"
#: CPU seconds of the command that executes one run of each point, two labs at a time on a machine with other work.
MEASURED = {
    "asakura2019/distance": 34.0,
    "asakura2019/fifo-4": 42.2,
    "asakura2019/fifo-8": 64.2,
    "asakura2019/steered-8": 63.9,
    "asakura2019/without": 21.7,
    "ito2016/loss-rate": 3.0,
    "ito2016/loss-way": 3.8,
    "ito2016/moving": 6.0,
    "ito2016/program": 3.7,
    "ito2016/queue-0": 7.9,
    "ito2016/round-trip": 3.3,
    "ito2016/weak": 5.6,
    "ito2016/window": 22.3,
    "subramani2018/queue-4.2": 15.1,
    "subramani2018/reading-4.2": 10.2,
    "subramani2018/loss-rtt": 26.7,
    "subramani2018/table-4.2": 47.3,
    "subramani2018/table-4.4": 137.1,
    "subramani2018/table-4.7": 94.2,
    "subramani2018/table-4.8": 116.8,
}
TRANSFER = """
title = "t"
topology.preset = "direct"
links.link1 = { rate = "100 Mbit/s", delay = "50 ms" }
transport.protocol = "tcp"
[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
"""


@pytest.mark.slow
@pytest.mark.parametrize("table", MEASURED)
def test_within_a_factor_of_three(table: str) -> None:
    points = load(STUDIES / f"{table}.toml").points
    estimated = sum(estimate_seconds(point.scenario) for point in points)
    assert 1 / 3 < estimated / MEASURED[table] < 3, f"{estimated:.1f} s foretold and {MEASURED[table]} s taken"


def _seconds(folder: Path, goal: str, *settings: str) -> tuple[float, float]:
    file = folder / "t.toml"
    file.write_text(TRANSFER + goal)
    scenario = load(file, overrides=settings).points[0].scenario
    return estimate_seconds(scenario), expected_seconds(scenario)


def test_loss_and_round_trips_limit_a_transfer(tmp_path: Path) -> None:
    """1 % at 100 ms leaves CUBIC about 12 segments per round trip, and Mathis the same: 1.4 of 100 Mbit/s."""
    timed = 'duration = "60 s"'
    clean, lossy = (_seconds(tmp_path, timed, *loss) for loss in ((), ("links.link1.forward.loss=1 %",)))
    assert clean[0] > 5 * lossy[0]
    assert clean[1] == lossy[1] == 60
    backward = _seconds(tmp_path, timed, "links.link1.backward.loss=1 %")
    assert backward == clean, "acknowledgements may get lost"
    sized = 'size = "10 MB"'
    assert 0.8 <= _seconds(tmp_path, sized)[1] < 1.2
    assert 30 < _seconds(tmp_path, sized, "links.link1.forward.loss=1 %")[1] < 120


def test_radios_cost_time_of_their_own() -> None:
    """Each further terminal has links to the access points, and a run that steers has a daemon, which asks them."""
    few, many = (
        load(STUDIES / "asakura2019" / "fifo-8.toml", overrides=[f"copies.terminal.count={count}"]).points[0].scenario
        for count in (4, 8)
    )
    unsteered = many.model_copy(update={"steering": None})
    seconds = [estimate_seconds(scenario) for scenario in (few, many, unsteered)]
    assert seconds[0] + 60 * 0.02 < seconds[1], f"{seconds}: eight links more, of 5 ms in each of 60 s, are 2.4 s"
    assert seconds[2] + 60 * 0.02 < seconds[1], f"{seconds}: 40 ms in each of 60 s are 2.4 s"


def test_transfers_beside_each_other_share_a_link(tmp_path: Path) -> None:
    more = 'duration = "60 s"\n[workloads.other]\nkind = "flow"\nfrom = "client"\nto = "server"\nduration = "60 s"'
    alone, beside = _seconds(tmp_path, 'duration = "60 s"')[0], _seconds(tmp_path, more)[0]
    assert beside == pytest.approx(alone)
