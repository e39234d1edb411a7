# SPDX-License-Identifier: MIT
# Produces the reason `socket-refused`: docs/reasons.md.
# The client's kernel has MPTCP switched off, and its program takes TCP instead.
. ./session.sh

on client sysctl -q -w net.mptcp.enabled=0
talk server serve 5001 &
trace client "${PYTHON:-python3}" "$here/talk.py" send "$(address_of server link1)" 5001 --seconds 0.5
look_at_all
