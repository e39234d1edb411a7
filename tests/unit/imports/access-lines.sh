# Two access lines of one machine, and a third one without a shaper.
IF1=eth0; IF2=wlan0
tc qdisc add dev $IF1 root handle 1: tbf rate 10mbit burst 32kbit latency 50ms
tc qdisc add dev $IF1 parent 1:1 handle 10: netem delay 20ms limit 200
tc qdisc add dev $IF2 root netem delay 40ms 10ms distribution normal loss 1% 25% rate 5mbit
tc qdisc add dev eth2 root cake bandwidth 20Mbit rtt 50ms nat
sysctl -w net.ipv4.tcp_congestion_control=bbr
sysctl -w net.core.default_qdisc=fq
