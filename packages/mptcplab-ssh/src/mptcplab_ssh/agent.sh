#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs one node's part of a plan: reads orders, one a line, and answers on standard output. Runs in the folder of the run:
#   node.sh      see keeper.sh
#   steps.sh     functions with the plan's commands; each sets AT to the number of the command that runs
#   run-NAME.sh  a program of the plan
# Every answer ends with the machine's monotonic clock, in ns.
. ./node.sh || exit 1
export PATH="/tmp/mptcplab:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
export HOME=/tmp TMPDIR=/tmp LC_ALL=C.UTF-8 TERM=dumb
trap '' HUP INT TERM PIPE
SETSID=$(command -v setsid)

# What the kernel prints there is its CLOCK_MONOTONIC; no program is needed to read it.
clock() {
	while read -r word at CLOCK unit; do
		[ "$word $at" = "now at" ] && return
	done </proc/timer_list
}
answer() { clock; echo "$* $CLOCK"; }

# The interfaces go to a namespace of their own, and this program with them. See keeper.sh for the names.
enter() {
	echo $$ >entering
	[ ! -e end ] && ip netns add "$NS" || return
	n=0
	while [ $n -lt "$COUNT" ]; do
		n=$((n + 1))
		eval "old=\$OLD_$n"
		: >"moved-$n"
		ip link set dev "$old" down && ip link set dev "$old" netns "$NS" &&
			ip -n "$NS" link set dev "$old" name "mptcplab.$n" || return
	done
	: >named
	n=0
	while [ $n -lt "$COUNT" ]; do
		n=$((n + 1))
		eval "new=\$NEW_$n"
		ip -n "$NS" link set dev "mptcplab.$n" name "$new" || return
	done
}

# The plan's programs get a /tmp of their own, which ends with them.
settle() {
	mount -t tmpfs -o mode=1777 mptcplab /tmp || return
	mkdir /tmp/mptcplab || return
	# Where the run's folder is, no program may be executed on many machines.
	if [ -e flow ]; then cp flow /tmp/mptcplab/mptcplab-flow && chmod 755 /tmp/mptcplab/mptcplab-flow || return; fi
	if [ -n "$FLOW" ]; then ln -s "$FLOW" /tmp/mptcplab/mptcplab-flow; fi
}

start() {
	answer began "$1"
	(
		# A program is to have the signals that it would have by itself.
		(trap - HUP INT TERM PIPE && exec $SETSID sh "./run-$1.sh") </dev/null >"out/$1.out" 2>"out/$1.err"
		status=$?
		answer ended "$1" $status
	) &
}

stop() { # NAME SIGNAL
	[ -e "pid-$1" ] && read -r pid <"pid-$1" || return
	if [ -n "$SETSID" ]; then kill "-$2" "-$pid"; else kill "-$2" "$pid"; fi 2>/dev/null
}

# The links without a carrier.
carriers() {
	n=0 missing=
	while [ $n -lt "$COUNT" ]; do
		n=$((n + 1))
		eval "link=\$NEW_$n"
		[ "$(cat "/sys/class/net/$link/carrier" 2>/dev/null)" = 1 ] || missing="$missing $link"
	done
	answer carriers "$1" $missing
}

# Who answers to the question for the other end's address, whatever its firewall does: a link-layer address, or "none".
reach() { # LINK ADDRESS
	ping -c 1 -W 2 -I "$1" "$2" >/dev/null 2>&1
	link=$1 found=none
	set -- $(ip neighbour show dev "$1" to "$2")
	while [ $# -gt 1 ]; do
		[ "$1" = lladdr ] && found=$2
		shift
	done
	answer reached "$link" "$found"
}

carry_out() { # the rest of a line that is not an answer is the first line of the error
	AT=0
	if "$1" 2>err; then
		answer done "$1" 0 0
	else
		status=$?
		read -r text <err || text="status $status"
		answer done "$1" $status $AT "$text"
	fi
}

if [ "$1" = inside ]; then
	rm -f entering
	. ./steps.sh
	if settle 2>err; then answer inside 0; else read -r text <err; answer inside 1 "$text"; fi
else
	answer outside
fi
while read -r order name value; do
	case $order in
	clock) answer clock "$name" ;;
	renew)
		echo "$name" >lease.new && mv lease.new lease
		answer clock "$name"
		;;
	enter)
		if enter 2>err; then
			# What a shell finds ignored when it starts, it can never give back to programs.
			trap - HUP INT TERM PIPE
			exec ip netns exec "$NS" sh ./agent.sh inside
		fi
		rm -f entering
		read -r text <err
		answer inside 1 "$text"
		;;
	do) carry_out "$name" ;;
	carriers) carriers "$name" ;;
	reach) reach "$name" "$value" & ;;
	start) start "$name" ;;
	stop) stop "$name" "$value" ;;
	end) break ;;
	esac
done
: >end
