# SPDX-License-Identifier: MIT
"""The calibration's runs, with the kernel whose radios push back."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.wifi.experiments import Measure, in_folder
from bench.wifi.lab import KERNEL

from mptcplab.errors import MissingError
from mptcplab.kernel import find_kernel


@pytest.fixture
def run(tmp_path: Path) -> Measure:
    """Runs networks in a folder of the test's own. Without the kernel, its tests fail."""
    try:
        find_kernel(KERNEL)
    except MissingError as error:
        pytest.fail(f"{error.message}; {error.hint}", pytrace=False)
    return in_folder(tmp_path)
