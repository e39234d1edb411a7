# SPDX-License-Identifier: MIT
# Produces the reason `large-packets-lost`: docs/reasons.md.
# A link has a small MTU, and the router before it does not report packets that are too large.
. ./session.sh

on r2 nft 'add table inet box
    add chain inet box sent { type filter hook output priority filter; }
    add rule inet box sent icmp type destination-unreachable drop'
talk server serve 5001 &
talk client send 10.0.2.2 5001 &
sleep 1
look_at_sockets
sleep 3
look_at_all
