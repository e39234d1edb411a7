# SPDX-License-Identifier: MIT
"""One run of a results folder."""

from __future__ import annotations

from dataclasses import dataclass

from mptcplab.metrics.rows import RunResult, Settings
from mptcplab.recording.record import Recording


@dataclass(frozen=True)
class RecordedRun:
    """A recording and the values measured from it."""

    recording: Recording
    result: RunResult

    @property
    def settings(self) -> dict[str, str]:
        """Swept keys and values of the run's point."""
        return dict(self.result.settings)

    @property
    def key(self) -> tuple[Settings, int]:
        """Point and seed."""
        return self.result.settings, self.result.seed
