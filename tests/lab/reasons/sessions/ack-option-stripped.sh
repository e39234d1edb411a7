# SPDX-License-Identifier: MIT
# Produces the reason `ack-option-stripped`: docs/reasons.md.
# A middlebox removes MP_CAPABLE from all packets after the handshake's first two.
. ./session.sh

filter r1 'tcp flags & (syn | ack) == ack tcp option mptcp subtype 0 reset tcp option mptcp'
transfer
