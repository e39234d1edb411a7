# SPDX-License-Identifier: MIT
"""A network for tests of gateways: two links between two routers with sockets, hosts before and behind them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mptcplab.gateway.registry import PROGRAMS
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.model import Plan
from mptcplab.scenario.load import load
from mptcplab.scenario.schema import Scenario
from mptcplab.steps import Program

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

#: The settings of a workload that speaks SOCKS5 to the entry.
LOCAL = ("workloads.fetch.from=home", "workloads.fetch.through=bond")
PROXIES = [name for name in PROGRAMS if name != "openvpn"]
Make = Callable[..., Scenario]


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


def plan_of(made: Scenario) -> Plan:
    return compile_plan(made, seed=1)


def program_of(plan: Plan, side: str, name: str = "bond") -> Program:
    return next(program for program in plan.programs if program.name == f"gateway.{side}-{name}")


def line_of(program: Program) -> str:
    """Return what a program's shell executes, or its words."""
    return program.argv[2] if program.argv[0] == "sh" else shlex.join(program.argv)


def settings_of(program: Program) -> dict[str, Any]:
    """Return the configuration that the program's shell writes to its file, as JSON."""
    line = line_of(program)
    words = shlex.split(line)
    assert words[:2] == ["printf", "%s\\n"]
    assert line.count(f" -c {words[4]}") == 1, "it reads the file that was written"
    settings: dict[str, Any] = json.loads(words[2])
    return settings
