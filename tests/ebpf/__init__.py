# SPDX-License-Identifier: MIT
"""Tests of the eBPF programs, ``make bpf-tests``: some load them into this machine's kernel, others into stock ones."""
