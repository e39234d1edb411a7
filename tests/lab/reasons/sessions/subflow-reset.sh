# SPDX-License-Identifier: MIT
# Produces the reason `subflow-reset`: docs/reasons.md.
# A middlebox removes the mappings of the second path, and the client resets the subflow.
. ./session.sh

on server ip mptcp monitor >>server.txt &
filter r2 'tcp option mptcp subtype 2 reset tcp option mptcp'
transfer
