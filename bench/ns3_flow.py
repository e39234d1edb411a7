# SPDX-License-Identifier: MIT
"""One TCP flow in ns-3, in a separate process: ``python -m bench.ns3_flow BITS_PER_SECOND SECONDS QUEUE_PACKETS``.

The network equals the lab's preset ``chain`` with one router: a fast first link, then the bottleneck with a queue in
packets, drop-tail, no traffic control above it; segments of 1448 bytes. All other TCP parameters are ns-3's defaults,
including its buffers of 128 KiB: they fill these paths, and larger ones would make ns-3 several times slower (113 CPU
seconds instead of 20 for 10 s of 1 Gbit/s with 6 MiB), because its bookkeeping of sent segments grows with the window.
It prints one JSON object. Only ``Simulator::Run`` is timed, in CPU seconds, so that the seconds in which the bindings
compile themselves do not count against ns-3.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import time
from typing import Any

SEGMENT = 1448
_PORT = 5001
_FIRST_LINK_BPS = 40_000_000_000


def _link(ns: Any, ends: tuple[Any, Any], rate: int, queue: int) -> Any:
    helper = ns.PointToPointHelper()
    helper.SetDeviceAttribute("DataRate", ns.StringValue(f"{rate}bps"))
    helper.SetDeviceAttribute("Mtu", ns.UintegerValue(1500))
    helper.SetChannelAttribute("Delay", ns.StringValue("0ms"))
    helper.SetQueue("ns3::DropTailQueue", "MaxSize", ns.StringValue(f"{queue}p"))
    return helper.Install(*ends)


def _network(ns: Any, rate: int, queue: int) -> tuple[Any, Any]:
    nodes = ns.NodeContainer()
    nodes.Create(3)
    ns.InternetStackHelper().Install(nodes)
    first = _link(ns, (nodes.Get(0), nodes.Get(1)), _FIRST_LINK_BPS, queue)
    second = _link(ns, (nodes.Get(1), nodes.Get(2)), rate, queue)
    addresses = ns.Ipv4AddressHelper()
    addresses.SetBase(ns.Ipv4Address("10.0.1.0"), ns.Ipv4Mask("255.255.255.0"))
    addresses.Assign(first)
    addresses.SetBase(ns.Ipv4Address("10.0.2.0"), ns.Ipv4Mask("255.255.255.0"))
    interfaces = addresses.Assign(second)
    for devices in (first, second):
        ns.TrafficControlHelper().Uninstall(devices)
    ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()
    return nodes, interfaces.GetAddress(1)


def run(rate: int, seconds: float, queue: int) -> dict[str, float]:
    """Run the simulation; return its CPU and wall seconds, and the received payload."""
    from ns import ns

    ns.Config.SetDefault("ns3::TcpSocket::SegmentSize", ns.UintegerValue(SEGMENT))
    nodes, target = _network(ns, rate, queue)
    remote = ns.InetSocketAddress(target, _PORT).ConvertTo()
    source = ns.BulkSendHelper("ns3::TcpSocketFactory", remote)
    source.SetAttribute("SendSize", ns.UintegerValue(SEGMENT))
    sending = source.Install(nodes.Get(0))
    anywhere = ns.InetSocketAddress(ns.Ipv4Address.GetAny(), _PORT).ConvertTo()
    receiving = ns.PacketSinkHelper("ns3::TcpSocketFactory", anywhere).Install(nodes.Get(2))
    for applications in (sending, receiving):
        applications.Start(ns.Seconds(0.0))
        applications.Stop(ns.Seconds(seconds))
    ns.Simulator.Stop(ns.Seconds(seconds))
    wall, cpu = time.monotonic(), time.process_time()
    ns.Simulator.Run()
    wall, cpu = time.monotonic() - wall, time.process_time() - cpu
    payload = receiving.Get(0).GetObject[ns.PacketSink]().GetTotalRx()
    return {"cpu_seconds": cpu, "wall_seconds": wall, "payload_bytes": payload}


if __name__ == "__main__":
    if importlib.util.find_spec("ns") is None:
        sys.exit("bench.ns3_flow: needs the package ns3: pip install -e '.[bench]'")
    rate_text, seconds_text, queue_text = sys.argv[1:]
    print(json.dumps(run(int(rate_text), float(seconds_text), int(queue_text))))
