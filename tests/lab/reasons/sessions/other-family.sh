# SPDX-License-Identifier: MIT
# Produces the reason `other-family`: docs/reasons.md.
# The connection is IPv4, and the only endpoint is IPv6.
. ./session.sh

on client ip mptcp endpoint flush
on server ip mptcp endpoint flush
on client ip address add 2001:db8::1/64 dev access2 nodad
on client ip mptcp endpoint add 2001:db8::1 dev access2 subflow
transfer
