# SPDX-License-Identifier: MIT
# Produces the reason `old-version`: docs/reasons.md.
# The client speaks version 0: a middlebox clears the version in its SYN.
. ./session.sh

on server tcpdump -q -i any -s 128 -U -w server.pcap tcp 2>/dev/null &
filter r1 'tcp flags & (syn | ack) == syn tcp option mptcp subtype 0 tcp option @30,16,16 set 0x0001'
transfer
