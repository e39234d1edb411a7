# SPDX-License-Identifier: MIT
"""The bench of the lab's tests, with a stock kernel."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mptcplab.campaign.lab import CompletedRun, Lab, Stop
from mptcplab.campaign.record import prepare_engines
from mptcplab.errors import LabError
from mptcplab.scenario.load import load

Measure = Callable[..., CompletedRun]
EXAMPLE = Path(__file__).resolve().parents[2] / "examples/two-paths.toml"


@pytest.fixture
def measure(tmp_path: Path) -> Measure:
    """Run the example with an engine and overrides in a folder of its own. Without QEMU or the kernel, it fails."""

    def run(engine: str, *overrides: str, name: str = "results") -> CompletedRun:
        runs = list(load(EXAMPLE, overrides=("transport.protocol=mptcp", *overrides)).runs)[-1:]
        stop = Stop()
        try:
            engines = prepare_engines(runs, name=engine)
        except LabError as error:
            pytest.fail(f"{error.message}; {error.hint}", pytrace=False)
        (done,) = Lab(engines, tmp_path / name, stop=stop).execute(runs, jobs=1, progress=lambda _: None)
        if done.error is not None:
            raise done.error
        return done

    return run
