# SPDX-License-Identifier: MIT
"""Reasons why the connection stops or suffers when a path fails."""

from __future__ import annotations

from mptcplab.explain.reason import Reason

REASONS: tuple[Reason, ...] = ()
