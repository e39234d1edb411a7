# SPDX-License-Identifier: MIT
# Produces the reason `traced-tcp-sockets`: docs/reasons.md.
# The client asks for MPTCP, and the server's program for TCP.
. ./session.sh

trace server socat -u TCP6-LISTEN:5001 OPEN:/dev/null &
sleep 0.2
talk client send "$(address_of server link1)" 5001 &
sleep 2
look_at_all
