# SPDX-License-Identifier: MIT
"""Manifests for tests that make their recordings by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mptcplab.recording.record import FORMAT, Recording
from mptcplab.workload.base import WorkloadBase
from mptcplab.workload.context import FIRST_PORT
from mptcplab.workload.registry import KINDS


def manifest(workloads: dict[str, dict[str, Any]], **others: Any) -> dict[str, Any]:
    """A manifest with what readers ask of ``workloads``, which run from client to server, and ``others`` beside it."""
    return {
        "format": FORMAT,
        "zero_ns": 0,
        "nodes": [],
        "links": [],
        "workloads": describe(workloads),
        "paths": {name: {} for name in workloads},
        **others,
    }


def describe(workloads: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Workloads as a manifest has them; their ports are as plans give them."""
    made = []
    for port, (name, described) in enumerate(workloads.items(), FIRST_PORT):
        load = {"from": "client", "to": "server", **described}
        made.append({"name": name, **load, "ends": KINDS[load["kind"]].ends(name, load, port)})
    return made


def workload(described: dict[str, Any]) -> WorkloadBase:
    """The workload of a recording with these keys, as its kind."""
    return KINDS[described["kind"]].from_recording(described)


def recording_with(manifest: dict[str, Any]) -> Recording:
    """A recording that has this manifest and no other file."""
    recording = Recording(Path("nowhere"))
    vars(recording)["manifest"] = manifest
    return recording
