# SPDX-License-Identifier: MIT
"""The pure parts of tools/radio, compiled once for all tests of them."""

from __future__ import annotations

import ctypes

import pytest
from tests.unit.tools.radio.parts import Parts, compile_parts


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return compile_parts(tmp_path_factory.mktemp("radio"))


@pytest.fixture(scope="session")
def parts(library: ctypes.CDLL) -> Parts:
    return Parts(library)
