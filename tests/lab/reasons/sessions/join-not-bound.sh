# SPDX-License-Identifier: MIT
# Produces the reason `join-not-bound`: docs/reasons.md.
# An endpoint stayed when its address went.
. ./session.sh

on client ip mptcp endpoint flush
on client ip mptcp endpoint add 10.9.9.9 subflow
transfer
