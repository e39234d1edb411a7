# SPDX-License-Identifier: MIT
# Produces the reason `backup-not-carried`: docs/reasons.md.
# The server's answer does not have the flag of a backup, as before Linux 6.11.
. ./session.sh

on server ip mptcp endpoint flush
on server ip mptcp endpoint add 10.0.4.2 id 1 signal backup
filter r2 'tcp flags & (syn | ack) == (syn | ack) tcp option mptcp subtype 1 tcp option @30,16,16 set 0x1001'
transfer
