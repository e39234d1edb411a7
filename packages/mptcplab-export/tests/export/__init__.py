# SPDX-License-Identifier: MIT
"""Tests that boot the lab: what an export makes of a machine is what a plan makes of a node."""
