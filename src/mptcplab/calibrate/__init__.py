# SPDX-License-Identifier: MIT
"""``mptcplab calibrate``: measures what a program costs on this machine's CPU, for the key ``cpu`` of a node.

`programs` has the programs and how to run each, `session` runs them in a network namespace of their own, `syscalls`
counts their system calls and bytes, and `measure` combines the three: its `fit` finds the two costs that explain the
CPU time.
"""
