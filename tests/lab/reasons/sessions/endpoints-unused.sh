# SPDX-License-Identifier: MIT
# Produces the reason `endpoints-unused`: docs/reasons.md.
# The server's endpoint should announce its other address, but its setting leaves paths to a program.
. ./session.sh

on client ip mptcp endpoint flush
on server sysctl -q -w net.mptcp.path_manager=userspace
on server ip mptcp endpoint flush
on server ip mptcp endpoint add "$(address_of server link2)" signal
transfer
