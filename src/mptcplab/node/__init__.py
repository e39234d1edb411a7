# SPDX-License-Identifier: MIT
"""Nodes: one module per kind, with its model, its commands and programs, and its picture; :mod:`registry`."""
