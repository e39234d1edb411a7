# SPDX-License-Identifier: MIT
# Produces the reason `route-missing`: docs/reasons.md.
# The table of the second address has lost its route, and does not fall through to others.
. ./session.sh

on client ip mptcp endpoint flush
on client ip mptcp endpoint add 10.0.3.1 subflow
on client ip rule delete from 10.0.3.1
on client ip rule add from 10.0.3.1 lookup 300
on client ip route add unreachable default table 300
transfer
look_at client 'ip route get 10.0.2.2 from 10.0.3.1'
