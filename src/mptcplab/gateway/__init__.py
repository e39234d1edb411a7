# SPDX-License-Identifier: MIT
"""Gateways: pairs of programs that carry the TCP of hosts and servers over MPTCP. One file per program."""
