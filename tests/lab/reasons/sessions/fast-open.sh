# SPDX-License-Identifier: MIT
# Produces the reason `fast-open`: docs/reasons.md.
# A middlebox removes MP_CAPABLE from SYNs with a cookie of TCP Fast Open.
. ./session.sh

for node in client server; do
    on $node sysctl -q -w net.ipv4.tcp_fastopen=3
done
filter r1 'tcp flags & (syn | ack) == syn tcp option fastopen exists reset tcp option mptcp'
talk server serve 5001 --fast-open --connections 2 &
talk client send 10.0.2.2 5001 --fast-open --seconds 0.5
talk client send 10.0.2.2 5001 --fast-open &
sleep 2
look_at_all
