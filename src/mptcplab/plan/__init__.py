# SPDX-License-Identifier: MIT
"""Compile a scenario to plain commands and a timeline. Pure: nothing is executed here."""
