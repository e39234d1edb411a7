# SPDX-License-Identifier: MIT
"""Tests in the lab kernel: they need `mptcplab kernel build`, and assert on what was measured."""
