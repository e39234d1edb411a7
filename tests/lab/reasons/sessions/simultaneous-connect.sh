# SPDX-License-Identifier: MIT
# Produces the reason `simultaneous-connect`: docs/reasons.md.
# Both hosts connect to each other.
. ./session.sh

talk server send 10.0.1.1 5001 --source 5001 &
talk client send 10.0.2.2 5001 --source 5001 &
sleep 2
look_at_all
