# SPDX-License-Identifier: MIT
"""The eBPF congestion controls on several CPUs at the same time: connections come and go, and the kernel stays calm.

Stock kernels are built without lockdep: their complaints are stalls, oopses, and warnings of the code itself.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from mptcplab.campaign.lab import Lab, Stop
from mptcplab.campaign.record import prepare_engines
from mptcplab.ebpf.objects import CONGESTION_CONTROLS
from mptcplab.metrics.warnings import kernel_complaints
from mptcplab.scenario.load import load

_SCENARIO = """
title = "Connections with every eBPF congestion control, on several CPUs"
phases = "fixed"

[topology]
preset = "disjoint-paths"
paths = 4

[links.link1]
rate = "20 Mbit/s"
delay = "5 ms"
loss = "1 %"

[links.link2]
rate = "10 Mbit/s"
delay = "10 ms"

# A client whose first packets are late would not try MPTCP again for an hour.
[transport]
congestion_control = "lia"
sysctl = { "net.mptcp.blackhole_timeout" = 0 }
"""
#: A new connection every 300 ms, whose subflows join and leave while others compute.
_WORKLOAD = """
[workloads.{name}]
kind = "web"
from = "client"
to = "server"
duration = "{seconds} s"
interval = "300 ms"
response = "60 kB"
sizes = "pareto"
shape = 1.2
largest = "1 MB"
congestion_control = "{name}"
"""
_SECONDS = 10


@pytest.mark.parametrize("version", ["6.12", "7.2"])
def test_connections_come_and_go_on_four_cpus(version: str, tmp_path: Path) -> None:
    file = tmp_path / "smp.toml"
    file.write_text(_SCENARIO + "".join(_WORKLOAD.format(name=name, seconds=_SECONDS) for name in CONGESTION_CONTROLS))
    runs = list(load(file).runs)
    engines = prepare_engines(runs, name=f"stock:{version},cpus=4,parallel")
    (done,) = Lab(engines, tmp_path / "out", stop=Stop()).execute(runs, jobs=1, progress=lambda _: None)
    assert done.error is None, (done.error, done.error.hint)
    assert done.result is not None
    assert done.recording is not None
    for workload in done.result.measured:
        use = workload.sockets.use
        print(
            f"{version} {workload.workload}: {use.connections} connections, {use.text}, {workload.sockets.congestion}"
        )
        # Some 33 by the scenario. Linux falls back to TCP when first packets are late, as on a machine that is busy.
        assert use.connections > _SECONDS
        assert use.with_mptcp > _SECONDS / 2
        assert workload.sockets.congestion == (workload.workload,)
    assert list(kernel_complaints(done.recording)) == []
