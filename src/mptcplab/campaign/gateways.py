# SPDX-License-Identifier: MIT
"""The description of gateways in a recording's manifest: see :mod:`mptcplab.campaign.contract` for everything else.

gateways   name, all keys of the scenario; ``server``, the address that the entry connects to, or several as a list;
           ``listening_port`` of the entry, None for a tunnel; ``local``, the loopback addresses by workload;
           ``carried``, the workloads whose connections it carries
"""

from __future__ import annotations

from typing import Any

from mptcplab.scenario import gateways
from mptcplab.scenario.network import Network


def describe_gateways(network: Network) -> dict[str, Any]:
    """Return the entry ``gateways``; empty for a scenario without gateways."""
    scenario = network.scenario
    if not scenario.gateways:
        return {}
    described = [
        {
            **gateway.description(gateways.context_of(network, name)),
            "carried": gateways.carried_workloads(network, name),
        }
        for name, gateway in scenario.gateways.items()
    ]
    return {"gateways": described}
