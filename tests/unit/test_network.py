# SPDX-License-Identifier: MIT
"""What has to hold of every behaviour of links and every discipline, whatever it does."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from mptcplab.network.behaviour import Behaviour
from mptcplab.network.disciplines.registry import DISCIPLINES
from mptcplab.network.registry import BEHAVIOURS, OWNERS, VARIABLE_KEYS
from mptcplab.network.words import direction_words
from mptcplab.plan.disciplines import disciplines
from mptcplab.scenario.events import Event
from mptcplab.scenario.links import Direction
from mptcplab.scenario.trace import parse


@pytest.mark.parametrize("one", BEHAVIOURS, ids=lambda one: one.name)
def test_its_smallest_example_shows_it(one: Behaviour[Any]) -> None:
    """It acts, is done by a command, and stands in the picture; nothing else of a direction acts."""
    direction = Direction.model_validate(one.smallest)
    assert [each.name for each in BEHAVIOURS if each.acts(direction)] == [one.name]
    words = disciplines(direction)
    assert words
    plain = Direction()
    assert words != disciplines(plain)
    assert direction_words([direction.model_dump(mode="json")]) != direction_words([plain.model_dump(mode="json")])


@pytest.mark.parametrize("key", VARIABLE_KEYS)
def test_what_events_change(key: str) -> None:
    """An event has the key, and only the number that it stands for becomes another one."""
    value = str(VARIABLE_KEYS[key].quantity(2_000_000))
    event = Event.model_validate({"at": "1 s", "type": "change", "link": "link1", key: value})
    before = Direction.model_validate({"rate": "1 Mbit/s", "delay": "10 ms"})
    changed = event.changed(before)
    assert str(getattr(changed, key)) == value
    others = [name for name in Direction.model_fields if name != key]
    assert [getattr(changed, name) for name in others] == [getattr(before, name) for name in others]
    old, new = disciplines(before, changeable=True), disciplines(changed, changeable=True)
    assert old != new
    assert [words[0] for words in old] == [words[0] for words in new]


@pytest.mark.parametrize(("key", "column"), [(key, name) for key, one in VARIABLE_KEYS.items() for name in one.columns])
def test_what_traces_drive(key: str, column: str) -> None:
    """Each column, beside one that bounds it, gives the direction what it says."""
    bound = VARIABLE_KEYS[key].within
    head, large = f"time_s,{column}", ""
    if bound is not None:
        head, large = f"{head},{next(iter(VARIABLE_KEYS[bound].columns))}", ",9000"
    values = [80_000_000, 90_000_000]
    rows = [f"{at},{Decimal(value) / VARIABLE_KEYS[key].columns[column]:f}{large}" for at, value in enumerate(values)]
    series = parse("\n".join([head, *rows]).encode(), window_ns=10**8)
    assert series.values(key) == values
    direction = Direction.model_validate({"rate": "1 Mbit/s"})
    steps = OWNERS[key].follow(direction, {key: values}, series.lasts_ns, 1514)
    # What a shaper's bucket holds beyond a frame is taken off its rate: some bits in each second.
    assert [int(step.values[key]) for step in steps] == pytest.approx(values, abs=1000)


@pytest.mark.parametrize("name", DISCIPLINES)
def test_disciplines_have_a_bottleneck_and_a_word(name: str) -> None:
    direction = Direction.model_validate({"rate": "8 Mbit/s", "discipline": name})
    assert "8000000bit" in disciplines(direction)[0]
    assert name in DISCIPLINES[name].caption({})
