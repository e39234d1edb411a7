# SPDX-License-Identifier: MIT
"""Scenarios made from what others have: commands, scripts, topologies of other tools. Nothing of it is run."""
