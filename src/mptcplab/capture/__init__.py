# SPDX-License-Identifier: MIT
"""Analysis of MPTCP captures from anywhere: connections, subflows, what each carried, and what went wrong.

    files -> tshark -> Packet -> Analysis -> Summary -> table, figure, JSON
             (read.py)          (tcp.py, connection.py, analysis.py)

Only :mod:`~mptcplab.capture.read` starts a process. The analysis sees every packet once and keeps interval sets and
counters, so its memory does not grow with the length of a capture.
"""
