# SPDX-License-Identifier: MIT
# Produces the reason `join-not-completed`: docs/reasons.md.
# A middlebox removes MP_JOIN from the third packet.
. ./session.sh

filter r2 'tcp flags & (syn | ack) == ack tcp option mptcp subtype 1 reset tcp option mptcp'
transfer
