# SPDX-License-Identifier: MIT
"""What the programs of workloads say that they did, and what the readers of all kinds share."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mptcplab.errors import LabError
from mptcplab.recording.record import Recording

#: Where the kind of an event stands in a line of ``flow``: {"event":"interval".
_HEAD = 24
NS = 1e9
MS = 1e6


@dataclass(frozen=True)
class Reading:
    """Goodput in bit/s, duration in s, and metrics by their names in JSON."""

    goodput_bps: float
    duration_s: float
    metrics: Mapping[str, float] = field(default_factory=dict)


def events(recording: Recording, program: str, kind: str) -> list[dict[str, Any]]:
    """Events of one kind, which a line begins with: the many samples are tables already and are passed over."""
    lines = recording.output(program).splitlines()
    return [json.loads(line) for line in lines if f'"{kind}"' in line[:_HEAD]]


def error_events(recording: Recording, program: str, kind: str) -> list[dict[str, Any]]:
    """Events of one kind that a program wrote to its standard error, among other lines."""
    lines = recording.output(program, "err").splitlines()
    head = json.dumps({"event": kind}, separators=(",", ":")).removesuffix("}")
    return [json.loads(line) for line in lines if line.startswith(head)]


def streams(recording: Recording, program: str) -> list[dict[str, Any]]:
    """Bytes and checksums that ``flow pattern`` and ``flow sum`` have told. :raises LabError: for none."""
    found = error_events(recording, program, "stream")
    if not found:
        raise LabError(f"{program} reported no checksum", hint=f"see out/{program}.err")
    return found


def goodput(received: int, elapsed_s: float, name: str) -> float:
    """Return the mean rate in bit/s. :raises LabError: when data took no time, so that there is none."""
    if not received:
        return 0.0
    if not elapsed_s:
        hint = "give a link on its path a delay or a rate: nothing else takes virtual time"
        raise LabError(f"{name}: its data took no time, so it has no goodput", hint=hint)
    return 8 * received / elapsed_s


def percentiles(values: Sequence[float], prefix: str, unit: str, wanted: Sequence[int]) -> dict[str, float]:
    """``PREFIX_pNN_UNIT``: the smallest value that at least NN % of ``values`` do not exceed (nearest rank)."""
    ordered = sorted(values)
    if not ordered:
        return {}
    ranks = {each: max(1, -(-each * len(ordered) // 100)) for each in wanted}
    return {f"{prefix}_p{each}_{unit}": ordered[rank - 1] for each, rank in ranks.items()}


def completion_metrics(times_s: list[float]) -> dict[str, float]:
    """Mean and percentiles of how long flows took."""
    if not times_s:
        return {}
    mean = sum(times_s) / len(times_s)
    return {"completion_mean_s": mean, **percentiles(times_s, "completion", "s", (50, 95, 99))}
