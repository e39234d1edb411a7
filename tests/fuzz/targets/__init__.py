# SPDX-License-Identifier: MIT
"""One target for each reader, by name."""

from __future__ import annotations

from tests.fuzz.judge import Target
from tests.fuzz.targets.capture import CaptureTarget
from tests.fuzz.targets.explain import ExplainTarget
from tests.fuzz.targets.fit import FitTarget
from tests.fuzz.targets.pack import PackTarget
from tests.fuzz.targets.pcap import PcapTarget
from tests.fuzz.targets.recording import RecordingTarget
from tests.fuzz.targets.scenario import ScenarioTarget
from tests.fuzz.targets.steering import SteeringTarget
from tests.fuzz.targets.units import UnitsTarget

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
        FitTarget,
        PackTarget,
    )
}
