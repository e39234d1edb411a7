# SPDX-License-Identifier: MIT
# Produces the reason `all-fits-into-one-subflow`: docs/reasons.md.
# The client sends a block, and the server acknowledges it before the next one. Bulk data would use both subflows.
. ./session.sh

talk server serve 5001 &
talk client send "$(address_of server link1)" 5001 --every 0.05 --block 16384 &
for _ in 1 2 3 4 5; do
    sleep 1
    look_at_sockets
done
