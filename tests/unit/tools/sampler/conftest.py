# SPDX-License-Identifier: MIT
"""The parts of tools/sampler, compiled once for all tests of them."""

from __future__ import annotations

import pytest
from tests.unit.tools.sampler.parts import Parts, compile_parts


@pytest.fixture(scope="session")
def sampler(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    folder = tmp_path_factory.mktemp("sampler")
    return Parts(compile_parts(folder), folder)
