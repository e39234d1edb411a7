# SPDX-License-Identifier: MIT
# Produces the reason `address-at-several-interfaces`: docs/reasons.md.
# Both modems of the client give it the same address.
. ./session.sh

on client ip address add "$(address_of client access1)/24" dev access2
transfer
