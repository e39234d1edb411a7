# SPDX-License-Identifier: MIT
"""The disciplines of a direction's keys: netem's options, the bottleneck, and tables of delays."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mptcplab.network.behaviours.delay import DelayKeys, spread_of
from mptcplab.network.behaviours.loss import BurstLoss
from mptcplab.network.tables import FOLDER, SCALE, DelayDistribution, table_command
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.links import change_commands, disciplines, shaping_commands
from mptcplab.scenario import presets
from mptcplab.scenario.links import DirectionSettings
from mptcplab.scenario.network import Network
from mptcplab.scenario.schema import Scenario

NETEM = "netem limit 1000000"
TBF = "tbf rate 8000000bit burst 1600 limit 100000"
FLOW = {"kind": "flow", "from": "client", "to": "server", "duration": "10 s"}


def _words(**keys: object) -> list[str]:
    direction = DirectionSettings.model_validate(keys)
    return [" ".join(words) for words in disciplines(direction, table="own")]


@pytest.mark.parametrize(
    ("keys", "netem"),
    [
        ({"delay": "20 ms", "jitter": "5 ms"}, "delay 20000.000us 5000.000us rate 1000gbit"),
        ({"delay": "20 ms", "jitter": "5 ms", "overtake": True}, "delay 20000.000us 5000.000us"),
        (
            {"delay": "20 ms", "jitter": "5 ms", "distribution": "pareto"},
            "delay 20000.000us 5000.000us distribution pareto rate 1000gbit",
        ),
        ({"delay": "20 ms", "reorder": "1 %"}, "delay 20000.000us 20000.000us distribution own"),
        ({"burst_loss": {"p": "1 %", "r": "20 %"}}, "loss gemodel 1% 20% 100% 0%"),
        (
            {"burst_loss": {"p": "1 %", "r": "20 %", "1-h": "50 %", "1-k": "0.1 %"}},
            "loss gemodel 1% 20% 50% 0.1%",
        ),
        ({"burst_loss": {"mean": "1 %", "length": "5 packets"}}, "loss gemodel 0.2020202% 20% 100% 0%"),
        ({"duplicate": "0.5 %", "corrupt": "10 ppm"}, "duplicate 0.5% corrupt 0.001%"),
        ({"delay": "20 ms", "batch": "5 ms"}, "delay 20000.000us slot 5000.000us"),
    ],
)
def test_netem(keys: dict[str, object], netem: str) -> None:
    assert _words(**keys) == [f"{NETEM} {netem}"]


@pytest.mark.parametrize(
    ("keys", "below"),
    [
        ({"discipline": "codel"}, "codel limit 66 noecn"),
        ({"discipline": "fq_codel", "queue": "10 packets"}, "fq_codel limit 10 noecn"),
        (
            {"discipline": "codel", "aqm": {"target": "20 ms", "interval": "50 ms", "ecn": True}},
            "codel limit 66 target 20000.000us interval 50000.000us ecn",
        ),
        (
            {"discipline": "pie", "aqm": {"target": "20 ms", "update": "30 ms"}},
            "pie limit 66 target 20000.000us tupdate 30000.000us noecn",
        ),
        (
            {"discipline": "red"},
            "red limit 100000 min 8333 max 25000 avpkt 1000 burst 13 probability 0.02 bandwidth 8000000bit",
        ),
        (
            {"discipline": "red", "aqm": {"min": "10 ms", "max": "50 ms", "probability": "10 %", "ecn": True}},
            "red limit 100000 min 10000 max 50000 avpkt 1000 burst 23 probability 0.1 bandwidth 8000000bit ecn",
        ),
    ],
)
def test_disciplines_below_the_rate(keys: dict[str, object], below: str) -> None:
    rate, kept = _words(rate="8 Mbit/s", **keys)
    assert rate.startswith("tbf rate 8000000bit burst 1600 limit ")
    assert kept == below


def test_cake_shapes_by_itself() -> None:
    assert _words(rate="8 Mbit/s", discipline="cake") == ["cake bandwidth 8000000bit"]
    assert _words(rate="8 Mbit/s", discipline="cake", overhead="24 B", aqm={"interval": "50 ms"}) == [
        "cake bandwidth 8000000bit rtt 50000.000us overhead 38"
    ]


def test_larger_frames_fit_bucket_and_queue() -> None:
    direction = DirectionSettings.model_validate({"rate": "8 Mbit/s", "queue": "2 packets"})
    rate, _ = (" ".join(words) for words in disciplines(direction, mtu=9000))
    assert rate == "tbf rate 8000000bit burst 9100 limit 18028"


def test_changeable_directions_have_a_netem_from_the_start() -> None:
    plain = DirectionSettings.model_validate({"rate": "8 Mbit/s"})
    in_order = f"{NETEM} rate 1000gbit"
    assert [" ".join(words) for words in disciplines(plain, changeable=True)] == [in_order, TBF]
    assert [" ".join(words) for words in disciplines(DirectionSettings(), changeable=True)] == [in_order]
    assert disciplines(DirectionSettings()) == []


def _network(events: Sequence[object] = (), **direction: object) -> Network:
    tables = presets.expand(presets.Topology.model_validate({"preset": "disjoint-paths"}))
    tables["links"]["link1"] |= {"forward": direction}
    return Network(Scenario.model_validate({"title": "t", **tables, "workloads": {"bulk": FLOW}, "events": events}))


def test_change_has_the_same_options_as_add() -> None:
    """A change to the initial values differs from the set-up only by its verb."""
    events = [{"at": "1 s", "type": "change", "link": "link1", "direction": "forward", "loss": "2 %"}]
    network = _network(events, rate="8 Mbit/s", queue="10 packets", discipline="codel", loss="1 %")
    made = [" ".join(c.argv) for c in shaping_commands(network) if c.argv[0] == "tc"]
    direction = network.directions["link1", "forward"]
    changed = [" ".join(c.argv) for c in change_commands(network, direction)]
    assert [text.replace("qdisc change", "qdisc add") for text in changed] == made
    assert all(command.node == "r1" for command in change_commands(network, direction))


chances = st.integers(min_value=1, max_value=10**9 - 1)


@given(mean=st.integers(1, 6 * 10**8), length=st.integers(1, 10**4))
def test_mean_and_length_of_the_chain(mean: int, length: int) -> None:
    """The mean is p / (p + r), and the length 1 / r, for all values."""
    if Fraction(mean, 10**9) > Fraction(length, length + 1):
        return
    chain = BurstLoss.model_validate({"mean": f"{mean} ppb", "length": f"{length} packets"})
    assert chain.mean_loss == Fraction(mean, 10**9)
    assert 1 / chain.to_good == length


@given(p=chances, r=chances, bad=chances, good=chances)
def test_mean_loss_is_between_those_of_the_states(p: int, r: int, bad: int, good: int) -> None:
    chain = BurstLoss.model_validate({"p": f"{p} ppb", "r": f"{r} ppb", "1-h": f"{bad} ppb", "1-k": f"{good} ppb"})
    assert min(bad, good) <= chain.mean_loss * 10**9 <= max(bad, good)


def _spread(**keys: object) -> DelayDistribution:
    deviation = spread_of(DelayKeys.model_validate(keys))
    assert deviation is not None
    return deviation


def _possible_delays_ns(spread: DelayDistribution) -> list[float]:
    """Return every delay that netem may draw, as often as the table has it."""
    values = [value for count, value in spread.entries for _ in range(count)]
    assert all(-32768 <= value <= 32767 for value in values)
    assert 0 < spread.deviation_ns < 2**31
    return [spread.middle_ns + spread.deviation_ns * value / SCALE for value in values]


@pytest.mark.slow
@given(st.lists(st.integers(0, 8 * 10**9), min_size=2, max_size=20, unique=True).map(sorted), st.integers(0, 10**9))
def test_own_tables_have_the_first_and_last_quantile(quantiles: list[int], delay: int) -> None:
    spread = _spread(delay=f"{delay} ns", extra_delay=[f"{value} ns" for value in quantiles])
    drawn = _possible_delays_ns(spread)
    resolution = spread.deviation_ns / SCALE + 1
    assert abs(drawn[0] - delay - quantiles[0]) <= resolution
    assert abs(drawn[-1] - delay - quantiles[-1]) <= resolution
    assert drawn == sorted(drawn)
    # The resolution of 16 bits: a 65,000th of the range.
    assert resolution <= (quantiles[-1] - quantiles[0]) / 32_000 + 2


@pytest.mark.slow
@given(share=st.integers(62_000, 10**9 - 62_000), delay=st.integers(1, 2 * 10**9))
def test_reordered_share(share: int, delay: int) -> None:
    drawn = _possible_delays_ns(_spread(delay=f"{delay} ns", reorder=f"{share} ppb"))
    early = sum(1 for value in drawn if value == 0)
    assert set(drawn) == {0, delay}
    assert len(drawn) <= 16384
    # The bound of the best fraction with such a denominator.
    assert abs(Fraction(early, len(drawn)) - Fraction(share, 10**9)) < Fraction(1, 2 * 16384)


@pytest.mark.parametrize("keys", [{"delay": "20 ms", "reorder": "1 %"}, {"extra_delay": ["0 ms", "1 ms", "9 ms"]}])
def test_the_file_has_the_entries(keys: dict[str, object], tmp_path: Path) -> None:
    spread = _spread(**keys)
    line = table_command("link1", "forward", spread).argv[-1].replace(FOLDER, str(tmp_path))
    subprocess.run(["sh", "-c", line], check=True)
    written = [int(word) for word in (tmp_path / "link1-forward.dist").read_text().split()]
    assert written == [value for count, value in spread.entries for _ in range(count)]


def test_tables_are_written_before_they_are_read() -> None:
    network = _network(delay="20 ms", reorder="1 %")
    setup = compile_plan(network.scenario, seed=1).setup
    writes = next(n for n, command in enumerate(setup) if FOLDER in command.argv[-1])
    reads = next(n for n, command in enumerate(setup) if "distribution" in command.argv)
    assert setup[writes].node is None
    assert writes < reads
