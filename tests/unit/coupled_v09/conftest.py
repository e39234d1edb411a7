# SPDX-License-Identifier: MIT
"""The compiled congestion controls, once for all tests of them."""

from __future__ import annotations

import pytest
from tests.unit.coupled_v09.driver import Driver, compile_driver


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Driver:
    """The kernel's `v09*.c` as they are."""
    return Driver(compile_driver(tmp_path_factory.mktemp("v09")))
