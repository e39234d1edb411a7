# SPDX-License-Identifier: MIT
"""Quantities: exact in every spelling, and their text parses to the same value."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mptcplab.units import CpuTime, Duration, Packets, Probability, Quantity, QueueLength, Rate, Size, UnitError

KINDS: list[type[Quantity]] = [Rate, Duration, CpuTime, Size, Probability, Packets]
kinds = st.sampled_from(KINDS)


def integers(kind: type[Quantity]) -> st.SearchStrategy[int]:
    """Return any value of ``kind``, among them round ones, which are written in larger units."""
    round_ones = st.builds(
        lambda n, f: min(n * f, kind.largest), st.integers(0, 5000), st.sampled_from([*kind.units.values()])
    )
    return st.one_of(st.integers(0, kind.largest), round_ones)


def expect_refusal(kind: type[Quantity] | type[QueueLength], text: object) -> UnitError:
    with pytest.raises(UnitError) as caught:
        kind.parse(text)
    assert caught.value.hint
    return caught.value


@given(st.data())
def test_text_parses_to_the_same_value(data: st.DataObject) -> None:
    kind = data.draw(kinds)
    value = kind(data.draw(integers(kind)))
    again = kind.parse(str(value))
    assert again == value
    assert type(again) is kind


@given(st.data())
def test_text_is_exact_or_refused(data: st.DataObject) -> None:
    """No decimal number of any length is rounded."""
    kind = data.draw(kinds)
    number = data.draw(st.from_regex(r"[0-9]{1,22}(\.[0-9]{1,22})?(e-?[0-9]{1,2})?", fullmatch=True))
    unit = data.draw(st.sampled_from([*kind.units]))
    exact = Fraction(number) * kind.units[unit]
    try:
        assert kind.parse(f"{number} {unit}") == exact
    except UnitError:
        assert exact.denominator != 1 or exact > kind.largest


@given(st.data())
def test_values_of_one_unit_add_up(data: st.DataObject) -> None:
    kind = data.draw(kinds)
    unit = data.draw(st.sampled_from([*kind.units]))
    most = kind.largest // kind.units[unit] // 2
    first, other = data.draw(st.integers(0, most)), data.draw(st.integers(0, most))
    assert kind.parse(f"{first} {unit}") + kind.parse(f"{other} {unit}") == kind.parse(f"{first + other} {unit}")


@pytest.mark.parametrize(("kind", "unit"), [(kind, unit) for kind in KINDS for unit in kind.units])
def test_every_spelling(kind: type[Quantity], unit: str) -> None:
    for text in (f"1 {unit}", f"1{unit}", f"  +1.0  {unit} ", f"1e0 {unit}", f"0_1 {unit}"):
        assert kind.parse(text) == kind.units[unit]


@pytest.mark.parametrize("kind", KINDS)
def test_example_parses(kind: type[Quantity]) -> None:
    assert kind.parse(kind.example) > 0
    assert set(kind.probable) <= set(kind.units)
    assert not set(kind.mistaken) & set(kind.units)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Rate(0), "0 bit/s"),
        (Rate(10**8), "100 Mbit/s"),
        (Rate(1_500_000), "1.5 Mbit/s"),
        (Rate(1_234_567), "1234567 bit/s"),
        (Duration(1500), "1.5 us"),
        (Duration(90 * 10**9), "90 s"),
        (Duration(3600 * 10**9), "1 h"),
        (CpuTime(1_200_000), "1.2 us"),
        (CpuTime(350), "350 ps"),
        (Size(65536), "64 KiB"),
        (Size(2**30), "1 GiB"),
        (Size(10**6), "1 MB"),
        (Probability(5_000_000), "0.5 %"),
        (Packets(100), "100 packets"),
        (Rate(2**63 - 1), "9223372036854775807 bit/s"),
    ],
)
def test_text_is_natural(value: Quantity, text: str) -> None:
    assert str(value) == text


@pytest.mark.parametrize(
    ("kind", "text", "message", "hint"),
    [
        (Rate, 10, "a rate needs a unit", 'write a number and a unit, like "10 Mbit/s"'),
        (Rate, "10", "a rate needs a unit", 'write a number and a unit, like "10 Mbit/s"'),
        (Rate, float("nan"), "a rate needs a unit", 'write for example "100 Mbit/s"'),
        (Rate, True, "is not a rate", 'write a number and a unit, like "100 Mbit/s"'),
        (Rate, None, "is not a rate", 'write a number and a unit, like "100 Mbit/s"'),
        (Rate, "fast", "is not a rate", 'write a number and a unit, like "100 Mbit/s"'),
        (Rate, "9" * 100, "is not a rate", 'write a number and a unit, like "100 Mbit/s"'),
        (Rate, "-1 bit/s", "a rate cannot be negative", 'write for example "100 Mbit/s"'),
        (Rate, "8 MB/s", "'MB/s' is not a unit of a rate", "write rates in bits: 1 MB/s is 8 Mbit/s"),
        (Rate, "8 MBIT", "'MBIT' is not a unit of a rate", "write Mbit"),
        (Rate, "0.5 bit/s", "is not a whole number of bit/s", "round it to whole bit/s"),
        (Rate, "8 Mb", "'Mb' is not a unit of a rate", "write Mbit/s"),
        (Rate, "1.0000000000000000000000001 kbps", "is not a whole number of bit/s", "round it to whole bit/s"),
        (Duration, "5 m", "'m' is not a unit of a time", "write min for minutes or ms for milliseconds"),
        (Duration, "5 lightyears", "'lightyears' is not a unit of a time", "use one of ns, us, ms, s, min, h"),
        (Size, "1 kib", "'kib' is not a unit of a size", "write KiB"),
        (Size, "1 k", "'k' is not a unit of a size", "write kB (1000 bytes) or KiB (1024 bytes)"),
        (Probability, 0.25, "a probability needs a unit", 'write "0.25 %", or "25 %" for a fraction'),
        (Probability, 0, "a probability needs a unit", 'write "0 %"'),
        (Probability, "101 %", "is more than the largest probability, 100 %", "use a smaller value"),
    ],
)  # fmt: skip
def test_refused(kind: type[Quantity], text: object, message: str, hint: str) -> None:
    error = expect_refusal(kind, text)
    assert (str(error), error.hint) == (message, hint)


@given(st.data())
def test_any_text_is_parsed_or_refused(data: st.DataObject) -> None:
    either: list[type[Quantity] | type[QueueLength]] = [*KINDS, QueueLength]
    kind = data.draw(st.sampled_from(either))
    text = data.draw(st.one_of(st.text(), st.from_regex(r"[-+0-9._eE]{1,70} ?[a-zA-Z%µ/]{0,8}", fullmatch=True)))
    try:
        read = kind.parse(text)
    except UnitError:
        return
    assert kind.parse(str(read)) == read


@given(st.integers(0, Duration.largest))
def test_seconds_as_decimal_text_are_exact(nanoseconds: int) -> None:
    text = Duration(nanoseconds).decimal_seconds
    assert Fraction(text) * 10**9 == nanoseconds
    assert "e" not in text.lower()


@given(st.integers(0, Probability.largest))
def test_percent_text_is_exact(billionths: int) -> None:
    text = Probability(billionths).percent_text
    assert Fraction(text) * 10**7 == billionths
    assert "e" not in text.lower()


def test_floats_are_near() -> None:
    assert Duration(1_500_000_000).seconds == 1.5
    assert Probability(5_000_000).fraction == 0.005


@given(
    st.one_of(
        st.integers(1, Packets.largest).map(lambda n: QueueLength(packets=Packets(n))),
        st.integers(1, Size.largest).map(lambda n: QueueLength(size=Size(n))),
        st.integers(1, Duration.largest).map(lambda n: QueueLength(time=Duration(n))),
    )
)
def test_queue_text_parses_to_the_same_length(queue: QueueLength) -> None:
    assert QueueLength.parse(str(queue)) == queue
    assert QueueLength.parse(queue) is queue


@given(st.integers(1, Duration.largest), st.integers(0, 10**11))
def test_queue_bytes_of_a_time_round_down(nanoseconds: int, rate: int) -> None:
    held = QueueLength(time=Duration(nanoseconds)).bytes_at(Rate(rate))
    assert held is not None
    exact = Fraction(nanoseconds * rate, 8 * 10**9)
    assert exact - 1 < held <= exact


def test_queue_bytes() -> None:
    assert QueueLength.parse("100 ms").bytes_at(Rate.parse("8 Mbit/s")) == 100_000
    assert QueueLength.parse("64 KiB").bytes_at(Rate(1)) == 65536
    assert QueueLength.parse("100 packets").bytes_at(Rate(1)) is None
    assert QueueLength.parse("1e2 pkts") == QueueLength.parse("100.0 packets")


@pytest.mark.parametrize("text", ["0 packets", "0 ms", "0.0 B"])
def test_queue_is_not_empty(text: str) -> None:
    assert str(expect_refusal(QueueLength, text)) == "a queue cannot have a length of zero"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (100, "a queue length needs a unit"),
        ("100", "a queue length needs a unit"),
        ([], "is not a queue length"),
        ("long", "is not a queue length"),
        ("10 Mbit/s", "'Mbit/s' is not a unit of a queue length"),
        ("1.5 packets", "is not a whole number of packets"),
        ("-1 packets", "a number of packets cannot be negative"),
        ("1e9 packets", "is more than the largest number of packets, 1000000 packets"),
    ],
)
def test_queue_refused(text: object, message: str) -> None:
    assert str(expect_refusal(QueueLength, text)) == message


def test_parsing_a_quantity_returns_it() -> None:
    rate = Rate(5)
    assert Rate.parse(rate) is rate
    assert repr(rate) == "Rate(5)"
    assert Decimal(rate) == 5
