# SPDX-License-Identifier: MIT
"""Engines: where a plan is executed. They run commands and programs and know nothing of what these are for."""
