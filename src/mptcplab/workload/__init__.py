# SPDX-License-Identifier: MIT
"""Workloads: one module per kind, with its model, its programs, and how their outputs are read; :mod:`registry`."""
