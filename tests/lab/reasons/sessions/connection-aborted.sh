# SPDX-License-Identifier: MIT
# Produces the reason `connection-aborted`: docs/reasons.md.
# The client's program aborts.
. ./session.sh

talk server serve 5001 &
talk client send 10.0.2.2 5001 --seconds 1 --abort
sleep 1
look_at_all
