# SPDX-License-Identifier: MIT
"""Properties of every link behaviour and every queue discipline."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from mptcplab.network.behaviour import Behaviour
from mptcplab.network.disciplines.registry import DISCIPLINES
from mptcplab.network.registry import BEHAVIOURS, OWNERS, VARIABLE_KEYS
from mptcplab.network.words import direction_words
from mptcplab.plan.links import disciplines
from mptcplab.scenario.events import Event
from mptcplab.scenario.links import DirectionSettings
from mptcplab.scenario.trace import parse


@pytest.mark.parametrize("behaviour", BEHAVIOURS, ids=lambda behaviour: behaviour.name)
def test_its_minimal_keys_have_an_effect(behaviour: Behaviour[Any]) -> None:
    """It alone is active, pictures show it, and it changes the disciplines unless it never does."""
    settings, plain = DirectionSettings.model_validate(behaviour.example), DirectionSettings()
    assert [each.name for each in BEHAVIOURS if each.is_active(settings)] == [behaviour.name]
    shapes = any(
        getattr(type(behaviour), method) is not getattr(Behaviour, method) for method in ("netem", "disciplines")
    )
    assert (disciplines(settings) != disciplines(plain)) == shapes
    assert direction_words([settings.model_dump(mode="json")]) != direction_words([plain.model_dump(mode="json")])


@pytest.mark.parametrize("key", VARIABLE_KEYS)
def test_events_change_variable_keys(key: str) -> None:
    """An event has the key, and changes only its value."""
    value = str(VARIABLE_KEYS[key].quantity(2_000_000))
    event = Event.model_validate({"at": "1 s", "type": "change", "link": "link1", key: value})
    before = DirectionSettings.model_validate({"rate": "1 Mbit/s", "delay": "10 ms"})
    changed = event.apply(before)
    assert str(getattr(changed, key)) == value
    others = [name for name in DirectionSettings.model_fields if name != key]
    assert [getattr(changed, name) for name in others] == [getattr(before, name) for name in others]
    old, new = disciplines(before, changeable=True), disciplines(changed, changeable=True)
    assert old != new
    assert [words[0] for words in old] == [words[0] for words in new]


@pytest.mark.parametrize(
    ("key", "column"), [(key, name) for key, variable_key in VARIABLE_KEYS.items() for name in variable_key.columns]
)
def test_traces_set_variable_keys(key: str, column: str) -> None:
    """Each column, beside a column that bounds it, sets the value of its key."""
    bound = VARIABLE_KEYS[key].bounded_by
    head, large = f"time_s,{column}", ""
    if bound is not None:
        head, large = f"{head},{next(iter(VARIABLE_KEYS[bound].columns))}", ",9000"
    values = [80_000_000, 90_000_000]
    rows = [f"{at},{Decimal(value) / VARIABLE_KEYS[key].columns[column]:f}{large}" for at, value in enumerate(values)]
    series = parse("\n".join([head, *rows]).encode(), window_ns=10**8)
    assert series.values(key) == values
    settings = DirectionSettings.model_validate({"rate": "1 Mbit/s"})
    steps = OWNERS[key].follow(settings, {key: values}, series.durations_ns, 1514)
    # The tokens beyond a frame in a shaper's bucket are subtracted from its rate: some bits per second.
    assert [int(step.values[key]) for step in steps] == pytest.approx(values, abs=1000)


@pytest.mark.parametrize("name", DISCIPLINES)
def test_disciplines_have_a_rate_and_a_caption(name: str) -> None:
    settings = DirectionSettings.model_validate({"rate": "8 Mbit/s", "discipline": name})
    assert "8000000bit" in disciplines(settings)[0]
    assert name in DISCIPLINES[name].caption({})
