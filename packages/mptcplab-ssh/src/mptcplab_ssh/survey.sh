#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints what a machine is and has: sections, each after a line "=== NAME".
# Variables before this text: INTERFACES and PROGRAMS, words; RUNS, the folder of runs.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:$PATH
section() { printf '=== %s\n' "$*"; }

section system; uname -s; uname -r; uname -m; uname -v; id -u
section boot; cat /proc/sys/kernel/random/boot_id
section config; zcat /proc/config.gz 2>/dev/null | grep '^CONFIG_HZ=' || grep '^CONFIG_HZ=' "/boot/config-$(uname -r)" 2>/dev/null
section clocksource; cat /sys/devices/system/clocksource/clocksource0/current_clocksource 2>/dev/null
section timens; cat /proc/self/timens_offsets 2>/dev/null
section clock; read -r line </proc/timer_list && echo "$line"
section programs; for program in $PROGRAMS; do command -v "$program" >/dev/null && echo "$program"; done
section way; case "$SSH_CONNECTION" in
	?*) ip -o route get "${SSH_CONNECTION%% *}" 2>/dev/null ;;
esac
section routes4; ip -4 -j -d route show table all 2>/dev/null
section routes6; ip -6 -j -d route show table all 2>/dev/null
section present; for device in $INTERFACES; do [ -e "/sys/class/net/$device" ] && echo "$device"; done
section runs; ls "$RUNS" 2>/dev/null
for device in $INTERFACES; do
	[ -e "/sys/class/net/$device" ] || continue
	section address "$device"; ip -j -d address show dev "$device"
	section neighbours "$device"; ip -j neighbour show dev "$device" nud permanent
	section qdiscs "$device"; tc -j qdisc show dev "$device"
	section features "$device"; ethtool -k "$device" 2>/dev/null
	section sysfs "$device"; ls "/sys/class/net/$device"
	section settings "$device"
	# What cannot be read cannot be kept: IPv6's secret, if there is none.
	grep '' /proc/sys/net/ipv[46]/conf/"$device"/* /proc/sys/net/ipv[46]/neigh/"$device"/* 2>/dev/null
done
section end
