# SPDX-License-Identifier: MIT
"""The fixtures of the lab's tests."""

from __future__ import annotations

from tests.lab.conftest import _own_cpu, bench, engines, shared_results

__all__ = ["_own_cpu", "bench", "engines", "shared_results"]
