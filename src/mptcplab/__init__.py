# SPDX-License-Identifier: MIT
"""mptcplab: a laboratory for Multipath TCP."""

__version__ = "0.1.0"
