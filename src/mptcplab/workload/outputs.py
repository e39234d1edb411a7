# SPDX-License-Identifier: MIT
"""Readers of the outputs of workload programs, shared by all kinds."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mptcplab.errors import LabError
from mptcplab.stats import nearest_rank

if TYPE_CHECKING:
    from mptcplab.recording.record import Recording

#: The head of a line of ``flow`` that has the kind of an event: {"event":"interval".
_HEAD = 24
NS = 1e9
MS = 1e6


@dataclass(frozen=True)
class Reading:
    """The result of a workload: goodput in bit/s, duration in s, and metrics by their names in JSON."""

    goodput_bps: float
    duration_s: float
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Item:
    """One object, response or message: its number, and how long it took.

    ``begun_s`` is when it was asked for or due, in s from time zero; None if the program does not report it.
    """

    number: int
    took: float
    begun_s: float | None = None


@dataclass(frozen=True)
class Items:
    """What a workload delivers one by one. ``noun`` names them, ``time`` what is measured of each, in ``unit``."""

    noun: str
    time: str
    unit: str
    items: tuple[Item, ...]


@dataclass(frozen=True)
class TimedMessages:
    """The messages of a call or stream: when each was due, in s from time zero, and its delay in ms.

    ``lost_s`` are the instants of those that did not arrive. One with a delay of more than ``latest_ms`` is late. Each
    has ``size`` bytes, and ``interval_s`` after it the next one is due.
    """

    due_s: tuple[float, ...]
    delay_ms: tuple[float, ...]
    lost_s: tuple[float, ...]
    latest_ms: float
    interval_s: float = math.inf
    size: int = 0


def events(recording: Recording, program: str, kind: str) -> list[dict[str, Any]]:
    """Return events of one kind, found by the head of lines, so that the many samples are not parsed."""
    lines = recording.output(program).splitlines()
    return [json.loads(line) for line in lines if f'"{kind}"' in line[:_HEAD]]


def error_events(recording: Recording, program: str, kind: str) -> list[dict[str, Any]]:
    """Return events of one kind that a program wrote to its standard error, among other lines."""
    lines = recording.output(program, "err").splitlines()
    head = json.dumps({"event": kind}, separators=(",", ":")).removesuffix("}")
    return [json.loads(line) for line in lines if line.startswith(head)]


def streams(recording: Recording, program: str) -> list[dict[str, Any]]:
    """Return bytes and checksums as ``flow pattern`` and ``flow sum`` report them. :raises LabError: for none."""
    found = error_events(recording, program, "stream")
    if not found:
        raise LabError(f"{program} reported no checksum", hint=f"see out/{program}.err")
    return found


def goodput(received: int, elapsed_s: float, name: str) -> float:
    """Return the mean rate in bit/s. :raises LabError: if the data took no time."""
    if not received:
        return 0.0
    if not elapsed_s:
        hint = "give a link on its path a delay or a rate, so that packets take virtual time"
        raise LabError(f"{name}: the data took no time, so goodput is undefined", hint=hint)
    return 8 * received / elapsed_s


def percentiles(values: Sequence[float], prefix: str, unit: str, wanted: Sequence[int]) -> dict[str, float]:
    """Return ``PREFIX_pNN_UNIT`` of ``values``, by nearest rank."""
    ordered = sorted(values)
    if not ordered:
        return {}
    return {f"{prefix}_p{each}_{unit}": nearest_rank(ordered, each) for each in wanted}


def completion_metrics(times_s: list[float]) -> dict[str, float]:
    """Return mean and percentiles of completion times."""
    if not times_s:
        return {}
    mean = sum(times_s) / len(times_s)
    return {"completion_mean_s": mean, **percentiles(times_s, "completion", "s", (50, 95, 99))}
