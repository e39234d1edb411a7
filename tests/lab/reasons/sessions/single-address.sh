# SPDX-License-Identifier: MIT
# Produces the reason `single-address`: docs/reasons.md.
# Each host has one address.
. ./session.sh

transfer
