# SPDX-License-Identifier: MIT
"""Analysis of captures from anywhere: what MPTCP did in them, and the times between packets of any TCP.

    files -> tshark -> Packet -> Analysis -> Summary -> table, figure, JSON

    files -> tshark -> Frame -> Collector -> ConnectionsOfCapture -> table, JSON

Only :mod:`~mptcplab.capture.tshark` starts a process. Both see every packet once and keep sums and interval sets, so
their memory does not grow with the length of a capture.
"""
