# SPDX-License-Identifier: MIT
"""What any MPTCP capture says: connections, subflows, who carried what, and what went wrong.

    files -> tshark -> Packet -> Analysis -> Summary -> table, figure, JSON
             (read.py)          (tcp.py, connection.py, analysis.py)

Only :mod:`~mptcplab.capture.read` starts a process. The analysis sees every packet once and keeps interval sets and
counters, so that its memory does not grow with the length of a capture.
"""
