# SPDX-License-Identifier: MIT
"""The compiled headers, once for all tests of them."""

from __future__ import annotations

import pytest
from tests.unit.coupled.library import Library, compile_library


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """The arithmetic of the kernel's coupled congestion controls."""
    return compile_library(tmp_path_factory.mktemp("coupled"))
