# SPDX-License-Identifier: MIT
"""Reasons why the sum of the paths stays below what they carry."""

from __future__ import annotations

from mptcplab.explain.reason import Reason

REASONS: tuple[Reason, ...] = ()
