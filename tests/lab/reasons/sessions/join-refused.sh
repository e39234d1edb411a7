# SPDX-License-Identifier: MIT
# Produces the reason `join-refused`: docs/reasons.md.
# The server's program stops listening when it has its connection.
. ./session.sh

talk server serve 5001 --once &
talk client send 10.0.2.2 5001 &
sleep 2
look_at_all
