# SPDX-License-Identifier: MIT
# Produces the reason `port-not-announced`: docs/reasons.md.
# A load balancer sends what arrives on the second path to another port.
. ./session.sh

on r2 nft 'add table ip nat
    add chain ip nat arrived { type nat hook prerouting priority dstnat; }
    add rule ip nat arrived tcp dport 5001 dnat to :5002'
talk server serve 5002 &
transfer
