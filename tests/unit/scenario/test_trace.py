# SPDX-License-Identifier: MIT
"""Traces: both formats, their errors, and the rates that they set."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mptcplab.plan.compile import compile_plan
from mptcplab.scenario.document import ScenarioError
from mptcplab.scenario.load import load
from mptcplab.scenario.trace import OPPORTUNITY_BYTES, TraceError, TraceSeries, TraceStep, parse

MS = 10**6


def _parse(text: str, window_ms: int = 100) -> TraceSeries:
    return parse(text.encode(), window_ns=window_ms * MS)


def _step(at_ms: int, **values: int) -> TraceStep:
    return TraceStep(at_ms * MS, tuple(values.items()))


def test_mahimahi() -> None:
    series = _parse("0\n50\n99\n100\n199\n300\n", window_ms=100)
    packet = OPPORTUNITY_BYTES * 8 * 10
    # The opportunity at the end of the period belongs to the last window.
    assert series.steps == (_step(0, rate=3 * packet), _step(100, rate=2 * packet), _step(200, rate=packet))
    assert series.period_ns == 300 * MS


def test_last_window_may_be_shorter() -> None:
    series = _parse("10\n110\n150\n", window_ms=100)
    assert series.steps[1] == _step(100, rate=2 * OPPORTUNITY_BYTES * 8 * 20)


@pytest.mark.slow
@given(st.lists(st.integers(0, 5000), min_size=1, max_size=300), st.integers(1, 700))
def test_every_opportunity_counts_once(stamps: list[int], window_ms: int) -> None:
    stamps = [*sorted(stamps), 5000]
    series = _parse("\n".join(map(str, stamps)), window_ms)
    ends = [*(step.at_ns for step in series.steps[1:]), series.period_ns]
    bits = (
        sum(dict(step.values)["rate"] * (end - step.at_ns) for step, end in zip(series.steps, ends, strict=True))
        / 10**9
    )
    # Rates are whole bits per second.
    assert bits == pytest.approx(len(stamps) * OPPORTUNITY_BYTES * 8, abs=5)


def test_csv() -> None:
    series = _parse(
        "# made by hand\nTime_s, rate_mbit_s ,delay_ms,loss_percent\n0,10,20,0\n1.5,2.5,20,0.1\n4,2.5,20,0.1\n"
    )
    assert series.steps == (
        _step(0, rate=10**7, delay=20 * MS, loss=0),
        _step(1500, rate=2_500_000, delay=20 * MS, loss=10**6),
    )
    assert series.period_ns == 6500 * MS
    assert series.mean_of("rate") == (10**7 * 15 + 2_500_000 * 50) // 65


@pytest.mark.parametrize("mark", ["# trace\n", "\n", "#\n \n# 7\n"])
def test_comments_and_empty_lines_do_not_hide_the_format(mark: str) -> None:
    plain = "0\n50\n100\n300\n"
    assert _parse(mark + plain).steps == _parse(plain).steps
    assert _parse(plain.replace("100\n", f"100\n{mark}")).steps == _parse(plain).steps
    rows = "time_s,rate_bit_s\n0,1\n2,3\n"
    assert _parse(mark + rows).steps == _parse(rows).steps


@pytest.mark.parametrize(
    ("unit", "bits"),
    [("bit", 1), ("kbit", 10**3), ("mbit", 10**6), ("byte", 8), ("kbyte", 8 * 10**3), ("mbyte", 8 * 10**6)],
)
def test_units_of_rates(unit: str, bits: int) -> None:
    assert _parse(f"time_s,rate_{unit}_s\n0,1.5\n1,2\n").values("rate") == [bits * 3 // 2, bits * 2]


@pytest.mark.parametrize(
    ("column", "stamps"),
    [
        ("timestamp_s", "1 2.5 4"),
        ("timestamp_s", "1600000000.25 1600000001.75 1600000003.25"),
        ("timestamp_ms", "1600000000250 1600000001750 1600000003250"),
        ("timestamp_s", "0 1.5 3"),
    ],
)
def test_time_stamps_count_from_the_first(column: str, stamps: str) -> None:
    rows = "".join(f"{stamp},{rate}\n" for stamp, rate in zip(stamps.split(), (10, 20, 30), strict=True))
    series = _parse(f"{column},rate_bit_s\n{rows}")
    assert series.steps == (_step(0, rate=10), _step(1500, rate=20), _step(3000, rate=30))
    assert series.period_ns == 4500 * MS


def test_a_file_without_a_line_of_names() -> None:
    """The scenario names the columns, so that the file of a published data set stays as it is."""
    text = b"1,781646\n2,914736\n3,862477\n"
    series = parse(text, window_ns=100 * MS, columns=("timestamp_s", "rate_byte_s"))
    assert series.steps == (_step(0, rate=6253168), _step(1000, rate=7317888), _step(2000, rate=6899816))
    assert series.period_ns == 3000 * MS
    whole = parse(b"0,1\n1,2\n", window_ns=100 * MS, columns=("time_s", "rate_bit_s"))
    assert whole.values("rate") == [1, 2]


@pytest.mark.parametrize("text", ["1,781646\n2,914736\n", "0 1.5\n1 2\n", "0;1\n1;2\n", "0\t1\n1\t2\n", "0.5\n1.5\n"])
def test_numbers_in_place_of_names(text: str) -> None:
    with pytest.raises(TraceError, match="has numbers in its first line, which must name the columns") as caught:
        _parse(text)
    assert "time_s,rate_bit_s" in caught.value.hint
    assert 'columns = ["time_s", "rate_bit_s"]' in caught.value.hint


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("time_s,rate_bit_s\n0,1\n1,2\n", "has no number for timestamp_s in line 1"),
        ("0,1\n", "has fewer than two instants"),
        ("", "has fewer than two instants"),
        ("0,1\n1\n", "has 1 values in line 2"),
        ("0 1\n1 2\n", "has 1 values in line 1"),
        ("1600000000000,1\n1600000001000,2\n", "has an impossible timestamp_s in line 1"),
        ("0,1\n3600001,2\n", "has an instant more than 1000 hours after the first in line 2"),
        ("2,1\n1,2\n", "has an instant less than 1 ms after the one before in line 2"),
    ],
)
def test_errors_of_a_file_without_names(text: str, said: str) -> None:
    with pytest.raises(TraceError) as caught:
        parse(text.encode(), window_ns=MS, columns=("timestamp_s", "rate_bit_s"))
    assert str(caught.value) == said
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no duration"),
        ("0\n", "has no duration"),
        ("5\n3\n", "goes back in time in line 2"),
        ("0\n999999999999\n", "is longer than 1000 hours"),
        ("5\n-3\n", "has no number of milliseconds in line 2"),
        ("5\nx\n", "has no number of milliseconds in line 2"),
        ("time_s,rate_mbit_s\n0,1\n", "has fewer than two instants"),
        ("time_s\n0\n1\n", "lacks a column of times or of values"),
        ("rate_mbit_s,delay_ms\n0,1\n1,1\n", "lacks a column of times or of values"),
        ("time_s,speed\n0,1\n1,1\n", "has an unknown column 'speed'"),
        ("time_s,time_ms,rate_bit_s\n0,0,1\n1,1,1\n", "has two columns of one kind"),
        ("time_s,jitter_ms\n0,1\n1,1\n", "has jitter without delay"),
        ("time_s,rate_mbit_s\n1,1\n2,1\n", "does not begin at time 0"),
        ("time_s,rate_mbit_s\n0,1\n0,2\n", "has an instant less than 1 ms after the one before in line 3"),
        ("time_s,rate_mbit_s\n0,1\n1\n", "has 1 values in line 3"),
        ("time_s,rate_mbit_s\n0,1\n1,fast\n", "has no number for rate_mbit_s in line 3"),
        ("time_s,rate_mbit_s\n0,1\n1,nan\n", "has no number for rate_mbit_s in line 3"),
        ("time_s,rate_mbit_s\n0,1\n1,-2\n", "has an impossible rate_mbit_s in line 3"),
        ("time_s,rate_mbit_s\n0,1\n1,1e999999\n", "has an impossible rate_mbit_s in line 3"),
        ("time_s,rate_mbit_s\n0,1\n1,snan\n", "has no number for rate_mbit_s in line 3"),
        ("\u00b2\n", "has an unknown column '\u00b2'"),
        ("5\n\u00b2\n", "has no number of milliseconds in line 2"),
        ("x" * 200_000, "cannot be read in line 1: field larger than field limit (131072)"),
        ("time_s,timestamp_s,rate_bit_s\n0,0,1\n1,1,1\n", "has two columns of one kind"),
        ("time_s,loss_percent\n0,1\n1,101\n", "has an impossible loss_percent in line 3"),
        ("time_s,delay_ms,jitter_ms\n0,5,1\n1,5,6\n", "has more jitter than delay in line 3"),
    ],
)
def test_errors(text: str, said: str) -> None:
    with pytest.raises(TraceError) as caught:
        _parse(text)
    assert str(caught.value) == said
    assert caught.value.hint


def test_not_text() -> None:
    with pytest.raises(TraceError, match="is not text"):
        parse(b"\xff\xfe\x00", window_ns=MS)


def test_too_many_steps() -> None:
    with pytest.raises(TraceError, match="has 20001 steps"):
        _parse("time_ms,rate_kbit_s\n" + "".join(f"{number},{100 + number % 2}\n" for number in range(20_001)))


@given(st.binary(max_size=200))
def test_anything_else_is_an_error_of_traces(data: bytes) -> None:
    try:
        series = parse(data, window_ns=100 * MS)
    except TraceError:
        return
    assert series.steps[0].at_ns == 0 < series.period_ns


SCENARIO = """
title = "t"
phases = "fixed"
topology = { preset = "direct" }
[links.link1]
delay = "10 ms"
queue = "100 ms"
forward = { trace = "line.csv" }
[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
duration = "10 s"
"""


def _load(folder: Path, rows: str, text: str = SCENARIO) -> list[list[str]]:
    """Return the commands of every event."""
    (folder / "line.csv").write_text(rows)
    (folder / "s.toml").write_text(text)
    plan = compile_plan(load(folder / "s.toml").points[0].scenario, seed=1)
    assert {event.every_ns for event in plan.events} == {3 * 10**9}
    return [[" ".join(command.argv) for command in event.commands] for event in plan.events]


@pytest.mark.parametrize("trace", ['"line.csv"', '{ file = "line.csv", end = "hold" }'])
def test_a_mistake_names_the_file(tmp_path: Path, trace: str) -> None:
    """Of four files, one has a single row."""
    with pytest.raises(ScenarioError, match=r'= "line.csv": has fewer than two instants') as wrong:
        _load(tmp_path, "time_s,rate_mbit_s\n0,8\n", SCENARIO.replace('"line.csv"', trace))
    assert (wrong.value.hint or "").endswith("for constant values, repeat the line at a later time")


def test_columns_in_a_scenario(tmp_path: Path) -> None:
    named = SCENARIO.replace('"line.csv"', '{ file = "line.csv", columns = ["timestamp_s", "rate_byte_s"] }')
    with_names = _load(tmp_path, "time_s,rate_mbit_s\n0,8\n1,2\n2,4\n")
    assert _load(tmp_path, "7,1e6\n8,25e4\n9,5e5\n", named) == with_names


def test_a_misspelt_column_in_a_scenario(tmp_path: Path) -> None:
    wrong = SCENARIO.replace('"line.csv"', '{ file = "line.csv", columns = ["time_s", "rate_mbyte"] }')
    with pytest.raises(ScenarioError) as caught:
        _load(tmp_path, "0,1\n1,2\n", wrong)
    assert 'did you mean "rate_mbyte_s"' in str(caught.value.hint)


def test_steps_change_only_differences(tmp_path: Path) -> None:
    first, pause, last = _load(tmp_path, "time_s,rate_mbit_s\n0,8\n1,0\n2,4\n")
    # The mean is 4 Mbit/s: 50,000 B in the queue's 100 ms. Every step adds 86 B beyond a frame.
    assert first[0].startswith("tc qdisc change dev ifb.1 root handle 1: netem limit 1000000 delay 10000.000us")
    assert first[1:] == ["tc qdisc change dev ifb.1 parent 1:1 handle 2: tbf rate 7999312bit burst 1600 limit 50000"]
    assert pause == ["tc qdisc change dev ifb.1 parent 1:1 handle 2: tbf rate 1000bit burst 1600 limit 50000"]
    assert last[0] == "tc qdisc change dev ifb.1 parent 1:1 handle 2: tbf rate 3999312bit burst 1600 limit 50000"
    assert last[1].startswith("python3 -c "), "nothing wakes the shaper after a pause"
    assert last[1].endswith(" ifb.1")


def test_the_mean_rate_represents_the_trace(tmp_path: Path) -> None:
    _load(tmp_path, "time_s,rate_mbit_s\n0,8\n1,0\n2,4\n")
    direction = load(tmp_path / "s.toml").points[0].scenario.links["link1"].forward
    assert str(direction.rate) == "4 Mbit/s"
    assert direction.traced is not None
    assert len(direction.traced.sha256 or "") == 64
    assert "series" not in direction.model_dump_json()


def test_a_trace_overrides_a_preset(tmp_path: Path) -> None:
    """Keys without a column, and the other direction, keep the preset's values."""
    text = SCENARIO.replace('delay = "10 ms"', 'preset = "lte-2014"')
    _load(tmp_path, "time_s,rate_mbit_s\n0,8\n1,0\n2,4\n", text)
    link = load(tmp_path / "s.toml").points[0].scenario.links["link1"]
    rates, delays = (
        (str(link.forward.rate), str(link.backward.rate)),
        (str(link.forward.delay), str(link.backward.delay)),
    )
    assert (rates, delays) == (("4 Mbit/s", "14.7 Mbit/s"), ("26.55 ms", "26.55 ms"))


def test_another_file_is_another_experiment(tmp_path: Path) -> None:
    dumps = set()
    for rate in (4, 5):
        _load(tmp_path, f"time_s,rate_mbit_s\n0,8\n1,0\n2,{rate}\n")
        dumps.add(
            load(tmp_path / "s.toml")
            .points[0]
            .scenario.model_dump_json(exclude={"links": {"link1": {"forward": {"rate"}}}})
        )
    assert len(dumps) == 2
