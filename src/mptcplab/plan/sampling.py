# SPDX-License-Identifier: MIT
"""The default interval between samples of sockets and queues."""

from __future__ import annotations

from mptcplab.plan.estimate import expected_seconds
from mptcplab.scenario.schema import Scenario

_SAMPLES = 100
_NS_PER_S = 10**9
#: Possible intervals. A second is a multiple of each, so that every second begins with a sample.
_STEPS_NS = tuple(milliseconds * 10**6 for milliseconds in (10, 20, 50, 100, 200, 500, 1000))


def sample_interval_ns(scenario: Scenario) -> int:
    """Return the scenario's own interval, or the longest step that gives a hundred samples.

    Short runs have fewer samples, since sampling has a cost; long ones are sampled once a second.
    """
    if scenario.record.interval is not None:
        return int(scenario.record.interval)
    wanted = expected_seconds(scenario) * _NS_PER_S / _SAMPLES
    return max((step for step in _STEPS_NS if step <= wanted), default=_STEPS_NS[0])
