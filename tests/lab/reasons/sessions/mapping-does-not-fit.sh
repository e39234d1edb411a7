# SPDX-License-Identifier: MIT
# Produces the reason `mapping-does-not-fit`: docs/reasons.md.
# A gateway moves the mappings of the second block.
. ./session.sh

on client ip mptcp endpoint flush
on server ip mptcp endpoint flush
# The subflow sequence number of a mapping, after 20 bytes of an option with short acknowledgements.
filter r1 'oifname "link1" tcp option mptcp subtype 2 tcp option @30,128,32 set 0x70000000'
talk server serve 5001 &
talk client send 10.0.2.2 5001 --every 0.5 &
sleep 2
look_at_all
