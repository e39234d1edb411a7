# SPDX-License-Identifier: MIT
# Produces the reason `link-local-announced`: docs/reasons.md.
# The server announces a link-local address.
. ./session.sh

on client ip mptcp endpoint flush
on server ip mptcp endpoint flush
on server ip address add fe80::2/64 dev link2 nodad
on server ip mptcp endpoint add fe80::2 dev link2 signal
on client ip mptcp monitor >>client.txt &
transfer
