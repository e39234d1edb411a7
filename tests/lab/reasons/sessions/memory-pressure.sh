# SPDX-License-Identifier: MIT
# Produces the reason `memory-pressure`: docs/reasons.md.
# All sockets together may have 200 pages.
. ./session.sh

nsenter --net --target 1 sysctl -q -w net.ipv4.tcp_mem="30 40 200"
transfer
