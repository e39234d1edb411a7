# SPDX-License-Identifier: MIT
"""The calibration's runs and a bench of scenarios, with the kernel whose radios push back."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.lab.bench import Bench
from validation.wifi.experiments import Measure, measure_in
from validation.wifi.lab import KERNEL

from mptcplab.engine.tools import compile_tools, radio_program, steer_program
from mptcplab.engine.virtual.engine import VirtualEngine
from mptcplab.errors import MissingError
from mptcplab.kernel import KernelBuild, find_kernel
from mptcplab.plan.radios import RADIO
from mptcplab.plan.steering import STEER


def _kernel() -> KernelBuild:
    try:
        return find_kernel(KERNEL)
    except MissingError as error:
        pytest.fail(f"{error.message}; {error.hint}", pytrace=False)


@pytest.fixture
def run(tmp_path: Path) -> Measure:
    """Runs networks in a folder of the test's own. Without the kernel, its tests fail."""
    _kernel()
    return measure_in(tmp_path)


@pytest.fixture
def bench(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """Runs scenarios in a folder of the test's own, or takes what another test has run."""
    tools = {**compile_tools(), RADIO: radio_program(), STEER: steer_program()}
    return Bench({KERNEL: VirtualEngine(_kernel(), tools)}, tmp_path, tmp_path_factory.getbasetemp() / "shared")
