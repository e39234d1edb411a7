#!/bin/bash
# No second subflow while the first path is down: two namespaces, two paths.
NS1=client
NS2=server

cleanup() {
    ip netns del $NS1
    ip netns del $NS2
}
trap cleanup EXIT

ip netns add $NS1
ip netns add $NS2
for i in 1 2; do
    ip link add veth$i netns $NS1 type veth peer name veth$i netns $NS2
    ip -n $NS1 addr add 10.0.$i.1/24 dev veth$i
    ip -n $NS2 addr add 10.0.$i.2/24 dev veth$i
    ip -n $NS1 link set veth$i up
    ip -n $NS2 link set veth$i up
done
ip -n $NS1 route add default via 10.0.1.2 dev veth1
ip netns exec $NS1 sysctl -w net.ipv4.tcp_rmem="4096 131072 33554432"

tc -n $NS1 qdisc add dev veth1 root netem rate 20mbit delay 10ms limit 100
tc -n $NS2 qdisc add dev veth1 root netem rate 20mbit delay 10ms limit 100
tc -n $NS1 qdisc add dev veth2 root handle 1: htb default 10
tc -n $NS1 class add dev veth2 parent 1: classid 1:10 htb rate 10mbit
tc -n $NS1 qdisc add dev veth2 parent 1:10 handle 10: netem delay 30ms loss 0.1%

ip -n $NS1 mptcp endpoint add 10.0.2.1 dev veth2 subflow
ip -n $NS2 mptcp endpoint add 10.0.2.2 dev veth2 signal
ip -n $NS1 mptcp limits set subflows 2 add_addr_accepted 2
ip -n $NS2 mptcp limits set subflows 2

ip netns exec $NS2 mptcpize run iperf3 -s -D
ip netns exec $NS1 mptcpize run iperf3 -c 10.0.1.2 -t 12 -R &
sleep 4
ip -n $NS1 link set veth1 down
sleep 2
ip -n $NS1 link set veth1 up
ip netns exec $NS1 iptables -A OUTPUT -p tcp --tcp-option 30 -j DROP
STARTED=$(date +%s)
ip -n $NS1 link set veth2 mtu $STARTED
wait
