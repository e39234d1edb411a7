# SPDX-License-Identifier: MIT
"""Runs the kernel's own MPTCP selftests, from the kernel's source, in separate labs."""

from __future__ import annotations

#: Scripts that run unless others are named, in the order of their results.
DEFAULT_SCRIPTS = ("simult_flows", "mptcp_connect", "mptcp_sockopt", "pm_netlink", "diag", "userspace_pm", "mptcp_join")
