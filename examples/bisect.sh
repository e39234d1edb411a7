#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Which commit changed what a scenario measures? In a Linux repository:
#
#     git bisect start BAD GOOD
#     git bisect run /path/to/examples/bisect.sh SCENARIO FOLDER
#
# FOLDER has the results of the good kernel, made before with the same scenario:
#
#     mptcplab run SCENARIO --set kernel=GOOD_KERNEL --out FOLDER
#
# Each step builds the commit (some minutes, kept in the cache), runs the scenario, and compares with FOLDER on the same
# seeds. Set LEAST to the smallest change that counts, in percent (default 1).
set -u

if [ $# -ne 2 ]; then
	echo "usage: git bisect run $0 SCENARIO FOLDER" >&2
	exit 128 # ends the bisection: nothing was tested
fi
scenario=$1
good=$2

work=$(mktemp -d) || exit 128
trap 'rm -rf "$work"' EXIT

# 125 tells git to skip a commit that cannot be tested.
built=$(mptcplab kernel build --source .) || exit 125
kernel=${built#*: }
mptcplab run "$scenario" --set "kernel=$kernel" --out "$work/new" >/dev/null || exit 125

mptcplab compare "$good" "$work/new" --fail-if-different --at-least "${LEAST:-1}"
case $? in
0) exit 0 ;;
1) exit 1 ;;
*) exit 125 ;;
esac
