# SPDX-License-Identifier: MIT
"""What the page shows of results: the rate of each workload over time, run by run, and the means in the end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mptcplab.errors import LabError
from mptcplab.figure.rates import coarsen, stack
from mptcplab.figure.timelines import timelines
from mptcplab.metrics.manifest import read_label
from mptcplab.metrics.points import short_names
from mptcplab.recording.record import Recording

_MAX_VALUES = 160


@dataclass(frozen=True)
class Curve:
    """Mbit/s of one workload of one run, from each of ``times`` (s) to the next. Curves of a ``group`` look alike."""

    group: str
    seed: int
    times: tuple[float, ...]
    values: tuple[float, ...]

    def to_json(self) -> dict[str, Any]:
        """Return JSON data for the page's script."""
        return asdict(self)


def read_curves(folder: Path) -> list[Curve]:
    """Return the curves of a recording; none if it cannot be read, or has no samples."""
    try:
        recording = Recording(folder)
        settings = dict(read_label(recording).settings)
        curves = []
        for timeline in map(coarsen, timelines(recording, max_values=_MAX_VALUES)):
            if len(timeline.edges) > 1 and timeline.received:
                rates, _ = stack(timeline)
                group = _label(settings, timeline.workload)
                values = tuple(round(float(rate), 3) for rate in rates)
                curves.append(Curve(group, read_label(recording).seed, timeline.edges, values))
    except (LabError, OSError, KeyError, TypeError, ValueError):
        return []
    return curves


def read_rows(folder: Path) -> list[tuple[str, str, str]]:
    """Return the goodput of each point and workload in a results folder: its name, mean and interval, and runs."""
    try:
        rows = json.loads((folder / "results.json").read_text())["rows"]
        return [
            (_label(row["settings"], row["workload"]), _interval(row["goodput_mbps"]), str(row["goodput_mbps"]["n"]))
            for row in rows
            if row.get("goodput_mbps") and row["goodput_mbps"]["mean"] is not None
        ]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _interval(summary: Mapping[str, Any]) -> str:
    """Return a mean with the half width of its interval, which one run does not have."""
    half = summary["ci95_half_width"]
    return f"{summary['mean']:.4g}" + (f" ± {half:.2g}" if half is not None else "")


def _label(settings: Mapping[str, str], workload: str) -> str:
    """Return the name of a workload at a point of the sweep."""
    names = short_names(list(settings))
    return ": ".join(filter(None, [", ".join(f"{names[key]} {value}" for key, value in settings.items()), workload]))
