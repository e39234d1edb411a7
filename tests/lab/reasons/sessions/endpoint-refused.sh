# SPDX-License-Identifier: MIT
# Produces the reason `endpoint-refused`: docs/reasons.md.
# The client has as many endpoints as its kernel takes: 255 since Linux 7.2.
. ./session.sh

on client ip mptcp endpoint flush
for number in $(seq 255); do
    echo "mptcp endpoint add 10.8.0.$number subflow"
done | on client ip -batch -
look_at client "ip mptcp endpoint add $(address_of client access2) subflow" 'ip mptcp endpoint'
