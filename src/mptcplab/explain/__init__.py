# SPDX-License-Identifier: MIT
"""Reasons: why a connection has no second subflow, fell back, waits, or stays below what its paths carry."""
