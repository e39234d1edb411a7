# SPDX-License-Identifier: MIT
"""What was recorded from the out-of-tree kernel's congestion controls: `traces/*.txt`, see `README.md`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.unit.coupled_v09.driver import CONGESTION_CONTROLS, HERE, INFINITE_SSTHRESH, Driver, Event, Window

TRACES = HERE / "traces"
NAMES = sorted(path.stem for path in TRACES.glob("*.txt"))


@dataclass(frozen=True)
class Trace:
    """One connection: its events, and the window of the event's path after each."""

    events: list[Event]
    windows: list[Window]


def _window(text: str) -> Window:
    cwnd, ssthresh = text.split(",")
    return Window(int(cwnd), INFINITE_SSTHRESH if ssthresh == "inf" else int(ssthresh))


def read_trace(name: str, control: str) -> Trace:
    """Read lines such as ``ack 0 2896 2 1 = 11,inf . . 12,inf``: what each of `CONGESTION_CONTROLS` did.

    A dot means that the window has not changed.
    """
    events, windows = [], []
    last: dict[int, Window] = {}
    for line in (TRACES / f"{name}.txt").read_text().splitlines():
        event, _, cells = line.partition(" = ")
        events.append(Event.parse(event))
        cell = cells.split()[CONGESTION_CONTROLS.index(control)]
        if cell != ".":
            last[events[-1].path] = _window(cell)
        windows.append(last[events[-1].path])
    return Trace(events, windows)


def differences(driver: Driver, control: str) -> Iterator[str]:
    """The first difference of each recorded connection from what the driver's congestion control does."""
    for name in NAMES:
        trace = read_trace(name, control)
        outputs = driver.run(control, trace.events)
        for i, (ours, theirs) in enumerate(zip(outputs, trace.windows, strict=True)):
            if ours != theirs:
                yield f"{control}, {name}, line {i + 1} ({trace.events[i]}): {ours}, recorded {theirs}"
                break
