# SPDX-License-Identifier: MIT
"""Reasons why the receiver waits."""

from __future__ import annotations

from mptcplab.explain.reason import Reason

REASONS: tuple[Reason, ...] = ()
