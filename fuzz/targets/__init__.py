# SPDX-License-Identifier: MIT
"""One target for each reader, by name."""

from __future__ import annotations

from fuzz.judge import Target
from fuzz.targets.capture import CaptureTarget
from fuzz.targets.explain import ExplainTarget
from fuzz.targets.importing import ImportTarget
from fuzz.targets.pack import PackTarget
from fuzz.targets.pcap import PcapTarget
from fuzz.targets.recording import RecordingTarget
from fuzz.targets.scenario import ScenarioTarget
from fuzz.targets.steering import SteeringTarget
from fuzz.targets.units import UnitsTarget

TARGETS: dict[str, type[Target]] = {
    one.name: one
    for one in (
        UnitsTarget,
        ScenarioTarget,
        RecordingTarget,
        CaptureTarget,
        PcapTarget,
        SteeringTarget,
        ExplainTarget,
        ImportTarget,
        PackTarget,
    )
}
