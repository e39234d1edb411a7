# SPDX-License-Identifier: MIT
"""Steering policies compared on layouts of three and four access points."""
