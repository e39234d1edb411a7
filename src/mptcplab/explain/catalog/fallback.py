# SPDX-License-Identifier: MIT
"""Reasons why a connection is plain TCP."""

from __future__ import annotations

from mptcplab.explain.reason import Reason

REASONS: tuple[Reason, ...] = ()
