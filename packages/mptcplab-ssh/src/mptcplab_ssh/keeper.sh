#!/bin/sh
# SPDX-License-Identifier: MIT
# Puts a machine back. `keeper.sh watch` waits until the run ends or its lease is not renewed, and then does it;
# `keeper.sh now` does it at once. Runs in the folder of the run, beside:
#   node.sh     NS, the run's namespace; LEASE, s; COUNT interfaces; OLD_n, NEW_n their names; FRESH, see below
#   back-n.sh   what gives interface n its state back
#   lease       a number that changes while the run's machine is in contact; end: made when the run is over
#   moved-n     interface n may be in the namespace; named: and have the plan's name
#   entering    the agent that moves the interfaces
# It may be killed at any moment and started again: each step is done only as far as it is left to do.
. ./node.sh || exit 1
trap '' HUP INT TERM PIPE
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:$PATH
nap() { sleep 0.1 2>/dev/null || sleep 1; }
r() { "$@" 2>>errors || echo "failed: $*" >>errors; }
# A route may be there already: the kernel adds some with an address.
a() { "$@" 2>route.errors || grep -q 'File exists' route.errors || { cat route.errors; echo "failed: $*"; } >>errors; }
# Most settings and features are what they were, and starting a program for each takes a small router many seconds. So
# this sets only the ones with another value, twice, since one setting may change another.
settings() { # DEVICE; on standard input PATH:VALUE
	cat >wanted
	for pass in 1 2; do
		grep '' /proc/sys/net/ipv[46]/conf/"$1"/* /proc/sys/net/ipv[46]/neigh/"$1"/* >now 2>/dev/null
		grep -vxFf now wanted >different || break
		while IFS=: read -r path value; do
			echo "$value" 2>>errors >"$path" || echo "failed: $path = $value" >>errors
		done <different
	done
}
features() { # DEVICE; on standard input lines of `ethtool -k`
	cat >wanted
	for pass in 1 2; do
		ethtool -k "$1" >now 2>/dev/null
		grep -vxFf now wanted >different || break
		while read -r name state; do
			case $state in *'[requested '*) state=${state#*'[requested '} state=${state%]} ;; esac
			ethtool -K "$1" "${name%:}" "$state" >/dev/null 2>&1
		done <different
	done
}
has() { ip -n "$NS" link show dev "$1" >/dev/null 2>&1; }
numbers() { n=0; while [ $n -lt "$COUNT" ]; do n=$((n + 1)); echo $n; done; }

# While the agent moves interfaces it is not in the namespace, and ends only afterwards. Both would move the same ones.
wait_for_agent() {
	tries=0
	while [ -s entering ] && read -r agent <entering && kill -0 "$agent"; do
		[ $tries -lt 300 ] || { kill -9 "$agent"; break; }
		nap
		tries=$((tries + 1))
	done 2>/dev/null
}

end_programs() {
	tries=0
	while [ $tries -lt 50 ] && pids=$(ip netns pids "$NS" 2>/dev/null) && [ -n "$pids" ]; do
		kill -9 $pids 2>/dev/null
		nap
		tries=$((tries + 1))
	done
}

# Names on the way: OLD in the machine's namespace; there OLD, TMP and, once `named`, NEW. So none is ambiguous.
move_back() {
	if [ -e named ] && [ ! -e returning ]; then
		for n in $(numbers); do
			eval "new=\$NEW_$n"
			has "$new" && r ip -n "$NS" link set dev "$new" down && r ip -n "$NS" link set dev "$new" name "mptcplab.$n"
		done
		: >returning
	fi
	for n in $(numbers); do
		[ -e "moved-$n" ] || continue
		eval "old=\$OLD_$n"
		if has "mptcplab.$n"; then
			r ip -n "$NS" link set dev "mptcplab.$n" down
			r ip -n "$NS" link set dev "mptcplab.$n" name "$old"
		fi
		has "$old" && r ip -n "$NS" link set dev "$old" netns $$
		. "./back-$n.sh"
		[ -s errors ] || rm -f "moved-$n"
	done
}

put_back() {
	echo $$ >keeper.pid
	: >errors
	wait_for_agent
	end_programs
	move_back
	[ -e "/run/netns/$NS" ] && r ip netns delete "$NS"
	# The first `ip netns add` after a boot leaves a mount.
	[ -z "$FRESH" ] || { rmdir /run/netns || { umount /run/netns && rmdir /run/netns; }; } 2>/dev/null
	if [ -s errors ]; then
		mv errors failed
		rm -f keeper.pid
		exit 1
	fi
	here=$PWD
	cd / && rm -rf "$here"
	rmdir "${here%/*}" 2>/dev/null
	exit 0
}

seconds() { read -r up rest </proc/uptime; up=${up%%.*}; }

watch() {
	seconds
	seen= until=$((up + LEASE))
	echo $$ >keeper.pid
	while [ ! -e end ]; do
		nap
		seconds
		read -r renewal <lease || continue
		[ "$renewal" = "$seen" ] || { seen=$renewal until=$((up + LEASE)); }
		[ "$up" -lt "$until" ] || break
	done
}

[ "$1" = now ] || watch
put_back
