# SPDX-License-Identifier: MIT
"""One target for each reader, by name. A target is imported when it is made: a worker needs only its own code."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module

from tests.fuzz.judge import Target


def _make(module: str, name: str) -> Target:
    target: Target = getattr(import_module(f"tests.fuzz.targets.{module}"), name)()
    return target


#: Functions that make the targets.
TARGETS: dict[str, Callable[[], Target]] = {
    "units": partial(_make, "units", "UnitsTarget"),
    "scenario": partial(_make, "scenario", "ScenarioTarget"),
    "recording": partial(_make, "recording", "RecordingTarget"),
    "capture": partial(_make, "capture", "CaptureTarget"),
    "pcap": partial(_make, "pcap", "PcapTarget"),
    "steering": partial(_make, "steering", "SteeringTarget"),
    "explain": partial(_make, "explain", "ExplainTarget"),
    "fit": partial(_make, "fit", "FitTarget"),
    "import": partial(_make, "importers", "ImportTarget"),
    "programs": partial(_make, "programs", "ProgramsTarget"),
    "pack": partial(_make, "pack", "PackTarget"),
}
