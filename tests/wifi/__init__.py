# SPDX-License-Identifier: MIT
"""Tests of nodes with a CPU: they need the lab kernel 7.2-cpu, which ``make cpu-tests`` builds."""
