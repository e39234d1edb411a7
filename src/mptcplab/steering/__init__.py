# SPDX-License-Identifier: MIT
"""A server that moves terminals between access points by MPTCP's priorities: a daemon, and an agent on each of these.

It needs nothing of the lab but its codecs of netlink, and the standard library alone: both programs run on any machine
with a recent kernel.
"""
