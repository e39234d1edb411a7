"""Two disjoint paths of Mininet."""

import argparse

from mininet.cli import CLI
from mininet.link import TCLink
from mininet.net import Mininet
from mininet.topo import Topo

parser = argparse.ArgumentParser()
parser.add_argument("--bw", type=float, default=8)
args = parser.parse_args()


class TwoPaths(Topo):
    def build(self, paths=2, delay="10ms"):
        client = self.addHost("client")
        server = self.addHost("server")
        for number in range(paths):
            switch = self.addSwitch("s%d" % (number + 1))
            self.addLink(client, switch, bw=args.bw, delay=delay, max_queue_size=50)
            self.addLink(switch, server, cls=TCLink, bw=100, loss=0.1 * number)


def run():
    net = Mininet(topo=TwoPaths(delay="15ms"), link=TCLink)
    net.start()
    client, server = net.get("client", "server")
    client.cmd("ip addr add 10.0.1.1/24 dev client-eth1")
    server.cmd("ip addr add 10.0.1.2/24 dev server-eth1")
    client.cmd("ip mptcp endpoint add 10.0.1.1 dev client-eth1 subflow")
    server.cmd("ip mptcp endpoint add 10.0.1.2 dev server-eth1 signal")
    client.cmd("ip mptcp limits set add_addr_accepted 2")
    server.cmd("mptcpize run iperf3 -s -D")
    client.cmd("mptcpize run iperf3 -c", server.IP(), "-t 10")
    client.cmd(input("command? "))
    CLI(net)
    net.stop()


if __name__ == "__main__":
    run()
