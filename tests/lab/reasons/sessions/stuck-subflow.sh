# SPDX-License-Identifier: MIT
# Produces the reason `stuck-subflow`: docs/reasons.md.
# The second path falls silent.
. ./session.sh

transfer
filter r2 drop
for _ in 1 2 3 4 5; do
    sleep 1
    look_at_sockets
done
