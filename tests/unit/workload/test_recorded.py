# SPDX-License-Identifier: MIT
"""Programs and workloads that the manifest of a recording lacks, or whose times it lacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.manifests import manifest, recording_with

from mptcplab.recording.record import Recording
from mptcplab.workload.recorded import read_span_ns, read_start_ns, read_workload

#: A program that was started and has no end.
RECORDING = recording_with(manifest({}, programs=[{"name": "bulk.client", "start_ns": 5}]))


def test_a_start_is_read() -> None:
    assert read_start_ns(RECORDING, "bulk.client") == 5


@pytest.mark.parametrize(
    ("read", "name", "message"),
    [
        (read_start_ns, "bulk.server", "the start of bulk.server is unknown"),
        (read_span_ns, "bulk.server", "the times of bulk.server are unknown"),
        (read_span_ns, "bulk.client", "the times of bulk.client are unknown"),
        (read_workload, "other", "the run has no workload 'other'"),
    ],
)
def test_missing_facts_are_value_errors(read: Callable[[Recording, str], Any], name: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        read(RECORDING, name)
