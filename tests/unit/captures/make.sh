#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Make the captures in this folder again: the host's own MPTCP between network namespaces, captured by tcpdump and
# dumpcap. As root: make.sh PATH-OF-FLOW OUT-FOLDER. README.md says what is in which file.
set -eu
flow=$1 out=$(realpath "$2")
for n in cap-c cap-r cap-s; do
	ip netns delete $n 2>/dev/null || true
	ip netns add $n
	ip -n $n link set lo up
done
trap 'for n in cap-c cap-r cap-s; do ip netns delete $n; done' EXIT

# cap-c --c1-- cap-r --s1-- cap-s, and the same with 2: 10.0.1.1, .2 and 10.0.3.1, .2; 10.0.2.1, .2 and 10.0.4.1, .2
for i in 1 2; do
	ip -n cap-c link add c$i type veth peer name c$i netns cap-r
	ip -n cap-s link add s$i type veth peer name s$i netns cap-r
	ip -n cap-c address add 10.0.$((2 * i - 1)).1/24 dev c$i
	ip -n cap-r address add 10.0.$((2 * i - 1)).2/24 dev c$i
	ip -n cap-r address add 10.0.$((2 * i)).2/24 dev s$i
	ip -n cap-s address add 10.0.$((2 * i)).1/24 dev s$i
	ip -n cap-c address add fd00:$((2 * i - 1))::1/64 dev c$i nodad
	ip -n cap-r address add fd00:$((2 * i - 1))::2/64 dev c$i nodad
	ip -n cap-r address add fd00:$((2 * i))::2/64 dev s$i nodad
	ip -n cap-s address add fd00:$((2 * i))::1/64 dev s$i nodad
	for pair in cap-c:c cap-r:c cap-r:s cap-s:s; do ip -n ${pair%:*} link set ${pair#*:}$i up; done
	for pair in "cap-c c $((2 * i - 1))" "cap-s s $((2 * i))"; do
		set -- $pair
		ip -n $1 rule add from 10.0.$3.1 table 10$i
		ip -n $1 route add default via 10.0.$3.2 dev $2$i table 10$i
		ip -n $1 route add 10.0.0.0/16 via 10.0.$3.2 dev $2$i metric 10$i
		ip -n $1 -6 rule add from fd00:$3::1 table 10$i
		ip -n $1 -6 route add default via fd00:$3::2 dev $2$i table 10$i
		ip -n $1 -6 route add fd00::/16 via fd00:$3::2 dev $2$i metric 10$i
	done
	ip -n cap-c route add 10.0.$((2 * i)).0/24 via 10.0.$((2 * i - 1)).2 dev c$i
	ip -n cap-s route add 10.0.$((2 * i - 1)).0/24 via 10.0.$((2 * i)).2 dev s$i
	ip netns exec cap-r tc qdisc add dev s$i root tbf rate 3mbit burst 4000 limit 20000
done
ip netns exec cap-r sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
for n in cap-c cap-s; do
	ip netns exec $n sysctl -qw net.mptcp.enabled=1
	ip -n $n mptcp limits set subflows 8 add_addr_accepted 8
done

# transfer NAME CLIENT-OPTIONS... -- SERVER-OPTIONS...: what `flow` counted stays beside the capture
transfer() {
	name=$1 address=$2 side=--mptcp
	shift 2
	[ "${plain_server:-}" ] && side=
	ip netns exec cap-s $flow server --port 5001 --connections 1 --interval-ms 1000 $side >$out/$name.server.jsonl &
	server=$!
	sleep 0.5
	ip netns exec cap-c $flow client --connect $address --port 5001 --connections 1 --interval-ms 1000 --mptcp \
		"$@" >$out/$name.client.jsonl
	wait $server
	sleep 1.5
}

endpoints() {
	for n in cap-c cap-s; do ip -n $n mptcp endpoint flush; done
	ip -n cap-s mptcp endpoint add 10.0.4.1 dev s2 signal
	ip -n cap-s mptcp endpoint add fd00:4::1 dev s2 signal
	sleep 0.2
}

capture() { # capture NODE FILE ARGUMENTS...
	node=$1 file=$2
	shift 2
	ip netns exec $node tcpdump -Z root -n -s 128 -w $out/$file "$@" 2>/dev/null &
	captures="${captures:-} $!"
}

finish() {
	kill -INT $captures
	wait $captures || true
	captures=
}

# 1. Linux cooked version 2, microseconds; GSO on: super-packets. Two subflows, then one is made a backup and removed.
endpoints
capture cap-c any-sll2.pcap -i any -y LINUX_SLL2 tcp
sleep 1
(
	sleep 1.3
	ip -n cap-s mptcp endpoint change id 1 backup
	sleep 0.3
	ip -n cap-s mptcp endpoint delete id 1
) &
transfer any-sll2 10.0.2.1 --seconds 1.2
finish

# 2. pcapng of two Ethernet interfaces by dumpcap, IPv6, on the server.
endpoints
ip netns exec cap-s dumpcap -q -s 160 -f 'tcp' -i s1 -i s2 -w $out/dumpcap-ipv6.pcapng 2>/dev/null &
captures=$!
sleep 1
transfer dumpcap-ipv6 fd00:2::1 --bytes 400000
finish

# 3. Nanoseconds, Ethernet, checksums, both ends of each line: four files. One line is cut: reinjections.
endpoints
for n in cap-c cap-s; do
	ip netns exec $n sysctl -qw net.mptcp.checksum_enabled=1
	for i in 1 2; do ip netns exec $n ethtool -K ${n#cap-}$i tso off gso off gro off; done
done
for i in 1 2; do
	capture cap-c cut-c$i.pcap -i c$i --time-stamp-precision=nano tcp
	capture cap-s cut-s$i.pcap -i s$i --time-stamp-precision=nano tcp
done
sleep 1
(
	sleep 0.9
	ip netns exec cap-r nft add table inet cut
	ip netns exec cap-r nft 'add chain inet cut forward { type filter hook forward priority 0; }'
	ip netns exec cap-r nft add rule inet cut forward iifname c2 drop
) &
transfer cut 10.0.2.1 --bytes 500000
finish
ip netns exec cap-r nft flush ruleset

# 4. The router removes MPTCP's options from SYNs: cooked version 1 on the client, Ethernet on the server.
ip netns exec cap-r nft add table inet strip
ip netns exec cap-r nft 'add chain inet strip forward { type filter hook forward priority 0; }'
ip netns exec cap-r nft add rule inet strip forward tcp flags syn reset tcp option mptcp
capture cap-c stripped-sll1.pcap -i any -y LINUX_SLL tcp
capture cap-s stripped-s1.pcap -i s1 tcp
sleep 1
transfer stripped 10.0.2.1 --bytes 100000
finish
ip netns exec cap-r nft flush ruleset

# 5. The server speaks TCP only; another client does, too. On the router, both ways of every packet in one file.
capture cap-r plain-router-any.pcap -i any -y LINUX_SLL2 tcp
sleep 1
plain_server=1 transfer plain 10.0.2.1 --bytes 100000
finish
