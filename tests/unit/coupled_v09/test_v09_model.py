# SPDX-License-Identifier: MIT
"""The `_v09` variants against an independent model of them, with random sequences of events."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.coupled_v09 import model
from tests.unit.coupled_v09.driver import CONGESTION_CONTROLS, Driver, Event, compile_driver, run_sanitized
from tests.unit.coupled_v09.sequences import lifelike, senseless, timeout_beside_others
from tests.unit.coupled_v09.traces import NAMES, read_trace

pytestmark = pytest.mark.slow

#: No limit of time for one example: on a busy machine that says nothing of the code.
PATIENT = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
_SEEDS = st.integers(0, 1 << 32)
_SEQUENCES = (
    st.builds(lifelike, _SEEDS, st.integers(1, 12), st.integers(1, 4))
    | st.builds(lifelike, _SEEDS, st.integers(1, 12), st.integers(1, 3), st.just((100, 2000)))
    | st.builds(senseless, _SEEDS, st.integers(10, 500), st.integers(1, 8))
)


def _agree(driver: Driver, control: str, events: list[Event]) -> None:
    actual, expected = driver.run(control, events), model.run(control, events)
    for i, event in enumerate(events):
        assert actual[i] == expected[i], f"event {i}, {event}"


@pytest.mark.parametrize("control", CONGESTION_CONTROLS)
@PATIENT
@given(events=_SEQUENCES)
def test_random_events(driver: Driver, control: str, events: list[Event]) -> None:
    """Windows and thresholds after every event are the model's."""
    _agree(driver, control, events)


@pytest.mark.parametrize("control", CONGESTION_CONTROLS)
def test_timeout_beside_others(driver: Driver, control: str) -> None:
    _agree(driver, control, timeout_beside_others())


@pytest.mark.parametrize("control", CONGESTION_CONTROLS)
@pytest.mark.parametrize("name", NAMES)
def test_model_as_recorded(name: str, control: str) -> None:
    """The model is right, too: it does what was recorded from the out-of-tree kernel's code."""
    trace = read_trace(name, control)
    for i, window in enumerate(model.run(control, trace.events)):
        assert window == trace.windows[i], f"line {i + 1}: {trace.events[i]}"


@pytest.fixture(scope="module")
def sanitized_build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same sources, which notice undefined behaviour and uses of sockets and groups that are gone."""
    return compile_driver(tmp_path_factory.mktemp("sanitized"), sanitizers=("address", "undefined"))


@pytest.mark.parametrize("control", CONGESTION_CONTROLS)
def test_memory(sanitized_build: Path, control: str) -> None:
    """Subflows join and leave all the time, each time another one as the last or the first of its connection."""
    events = senseless(7, 5000, 4)
    assert sum(event.name == "leave" for event in events) > 50
    assert run_sanitized(sanitized_build, control, events) == model.run(control, events)
