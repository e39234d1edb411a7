# SPDX-License-Identifier: MIT
# Produces the reason `route-by-other-interface`: docs/reasons.md.
# The rule for the second address is missing, and the endpoint names no device.
. ./session.sh

on client ip mptcp endpoint flush
on client ip mptcp endpoint add 10.0.3.1 subflow
on client ip rule delete from 10.0.3.1
transfer
look_at client 'ip route get 10.0.2.2 from 10.0.3.1'
