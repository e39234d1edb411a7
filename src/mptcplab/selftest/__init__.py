# SPDX-License-Identifier: MIT
"""Runs the kernel's own MPTCP selftests, from the kernel's source, in separate labs."""
