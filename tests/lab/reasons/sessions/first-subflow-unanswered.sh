# SPDX-License-Identifier: MIT
# Produces the reason `first-subflow-unanswered`: docs/reasons.md.
# The first path is dead when the connection opens.
. ./session.sh

filter r1 drop
talk server serve 5001 &
talk client send 10.0.2.2 5001 &
sleep 1
look_at_all
for _ in 1 2 3; do
    sleep 1
    look_at_sockets
done
