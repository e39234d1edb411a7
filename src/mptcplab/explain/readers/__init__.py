# SPDX-License-Identifier: MIT
"""Readers of what ``nstat``, ``ss``, ``ip`` and others print on real machines, and of collections of such files."""
