# SPDX-License-Identifier: MIT
# Produces the reason `socket-option-unsupported`: docs/reasons.md.
# The client's program asks for kernel TLS, which a socket of MPTCP refuses.
. ./session.sh

talk server serve 5001 &
trace client "${PYTHON:-python3}" "$here/talk.py" send "$(address_of server link1)" 5001 --seconds 0.5 --kernel-tls
look_at_all
