# SPDX-License-Identifier: MIT
"""Scenario files that tests write, and what it asks of them when they are loaded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mptcplab.scenario.load import Experiment
from mptcplab.scenario.schema import Scenario

WORKLOAD = """
[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
size = "10 MB"
"""
PATHS = 'title = "Two paths"\n[topology]\npreset = "disjoint-paths"\n'

Write = Callable[..., Path]


def first_scenario(experiment: Experiment) -> Scenario:
    assert len(experiment.points) == 1
    return experiment.points[0].scenario


def settings_of(experiment: Experiment) -> list[tuple[str, ...]]:
    return [tuple(point.settings.values()) for point in experiment.points]
