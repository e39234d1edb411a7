# SPDX-License-Identifier: MIT
"""Benchmarks of the lab: ratios to real time, to ns-3 and to this machine's own kernel, and the growth of cost."""
