# SPDX-License-Identifier: MIT
"""A network for tests of gateways: two links between two routers with sockets, hosts before and behind them."""

from __future__ import annotations

from pathlib import Path

from mptcplab.scenario.load import load
from mptcplab.scenario.schema import Scenario

NETWORK = """
title = "t"
phases = "fixed"

[transport]
protocol = "tcp"

[hosts.laptop]
[hosts.web]
[hosts.other]
[routers.home.transport]
[routers.vps.transport]
[routers.middle]

[links]
lan = { between = ["laptop", "home"], delay = "1 ms" }
dsl = { between = ["home", "vps"], rate = "20 Mbit/s", delay = "1 ms" }
lte = { between = ["home", "vps"], rate = "10 Mbit/s", delay = "1 ms" }
wan = { between = ["vps", "web"], delay = "1 ms" }
far = { between = ["vps", "middle"], delay = "1 ms" }
farther = { between = ["middle", "other"], delay = "1 ms" }

[workloads.fetch]
kind = "http"
from = "laptop"
to = "web"
size = "1 MB"
"""


def gateway(program: str, *lines: str, name: str = "bond", entry: str = "home", exit_: str = "vps") -> str:
    """The table of a gateway, with ``lines`` in it."""
    return "\n".join(
        (f"[gateways.{name}]", f'program = "{program}"', f'entry = "{entry}"', f'exit = "{exit_}"', *lines, "")
    )


def workload(
    name: str, *lines: str, kind: str = "http", from_: str = "laptop", to: str = "web", goal: str = 'size = "1 MB"'
) -> str:
    """The table of a workload, by default of 1 MB, with ``lines`` in it."""
    return "\n".join((f"[workloads.{name}]", f'kind = "{kind}"', f'from = "{from_}"', f'to = "{to}"', goal, *lines, ""))


def scenario(folder: Path, *tables: str, settings: tuple[str, ...] = ()) -> Scenario:
    """The scenario of the network with further ``tables``."""
    file = folder / "gateways.toml"
    file.write_text("\n".join((NETWORK, *tables)))
    return load(file, overrides=settings).points[0].scenario
