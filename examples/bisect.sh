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
# Each step builds the commit (some minutes, kept in the cache), runs the scenario with the kernel that was built, and
# compares with FOLDER on the same seeds. Set LEAST to the smallest change that counts, in percent (default 1). A step
# that could have missed such a change ends the bisection, because it would be taken for a good one.
set -u

if [ $# -ne 2 ]; then
	echo "usage: git bisect run $0 SCENARIO FOLDER" >&2
	exit 128 # ends the bisection: nothing was tested
fi
scenario=$1
good=$2
least=${LEAST:-1}

work=$(mktemp -d) || exit 128
trap 'rm -rf "$work"' EXIT

# 125 tells git to skip a commit that cannot be tested.
built=$(mptcplab kernel build --source .) || exit 125
# "Linux RELEASE: PATH". A version would not do: 7.2 means the kernel from the distribution's source, if there is one.
kernel=${built#*: }
mptcplab run "$scenario" --set "kernel=$kernel" --out "$work/new" >/dev/null || exit 125
echo "tested $kernel"

mptcplab compare "$good" "$work/new" --fail-if-different --margin "$least"
case $? in
0) ;;
1) exit 1 ;;
*) exit 125 ;;
esac

if ! mptcplab compare "$good" "$work/new" --fail-if-uncertain --margin "$least" >/dev/null; then
	echo "these repeats could have missed a change of $least %: use more, in both, or a larger LEAST" >&2
	exit 128
fi
