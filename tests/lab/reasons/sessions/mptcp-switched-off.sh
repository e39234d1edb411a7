# SPDX-License-Identifier: MIT
# Produces the reason `mptcp-switched-off`: docs/reasons.md.
# The client's kernel has MPTCP, and does not offer it.
. ./session.sh

on client sysctl -q -w net.mptcp.enabled=0
transfer
