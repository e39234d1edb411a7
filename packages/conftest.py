# SPDX-License-Identifier: MIT
"""Tests of the packages draw the same examples as the tests of the core, and have the same browser."""

from __future__ import annotations

from tests.conftest import browser

__all__ = ["browser"]
