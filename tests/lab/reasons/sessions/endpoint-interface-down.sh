# SPDX-License-Identifier: MIT
# Produces the reason `endpoint-interface-down`: docs/reasons.md.
# The interface of an endpoint is down.
. ./session.sh

on client ip mptcp endpoint flush
on client ip mptcp endpoint add 10.0.3.1 dev access2 subflow
on client ip link set access2 down
transfer
