# SPDX-License-Identifier: MIT
"""All checks across tables, in their order. The checks of a concept are in its module, beside its model if it has one
here."""

from __future__ import annotations

from mptcplab.scenario.document import Document
from mptcplab.scenario.gateways import check_carried, check_gateways
from mptcplab.scenario.links import check_addresses, check_links, check_mtus, check_subnets
from mptcplab.scenario.network import Network
from mptcplab.scenario.nodes import (
    check_cpus,
    check_endpoints,
    check_kinds,
    check_linked,
    check_loopbacks,
    check_modes,
    check_named_links,
    check_nodes,
    check_weights,
)
from mptcplab.scenario.record import check_captures
from mptcplab.scenario.schema import Scenario
from mptcplab.scenario.steering import check_steering
from mptcplab.scenario.timeline import check_events
from mptcplab.scenario.wifi import check_radios
from mptcplab.scenario.workloads import check_durations, check_number, check_workloads

#: They find that there is a network: nodes, links between them, and addresses.
_OF_TABLES = (check_nodes, check_number, check_links, check_linked, check_addresses)
#: They ask it for addresses and paths. Each may rely on what those before it have checked.
_OF_NETWORK = (
    check_subnets,
    check_mtus,
    check_named_links,
    check_gateways,
    check_workloads,
    check_carried,
    check_kinds,
    check_cpus,
    check_loopbacks,
    check_endpoints,
    check_weights,
    check_modes,
    check_durations,
    check_captures,
    check_radios,
    check_steering,
    check_events,
)


def check(document: Document, scenario: Scenario, *, real_time: bool = False) -> None:
    """Check ``scenario`` as a whole. :raises InputError: for the first inconsistency.

    In ``real_time``, every workload with a duration ends.
    """
    for check_table in _OF_TABLES:
        check_table(document, scenario)
    network = Network(scenario)
    for check_network in _OF_NETWORK:
        if not (real_time and check_network is check_durations):
            check_network(document, network)
