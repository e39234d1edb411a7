# SPDX-License-Identifier: MIT
"""Checks of workloads: their number, their ends and the way between these, and that each of them ends."""

from __future__ import annotations

from mptcplab.errors import Mistake
from mptcplab.scenario.document import Document
from mptcplab.scenario.links import takes_time
from mptcplab.scenario.network import Network
from mptcplab.scenario.place import KeyPath
from mptcplab.scenario.references import check_own_link, check_sockets
from mptcplab.scenario.schema import Scenario

_MAX_WORKLOADS = 1000


def check_number(document: Document, scenario: Scenario) -> None:
    """Check that there are workloads, and not too many. :raises InputError: if not."""
    if not scenario.workloads:
        hint = 'add [workloads.NAME] with kind = "flow", from = "client", to = "server" and duration = "10 s"'
        message = "is empty, so there is nothing to measure"
        raise document.error(("workloads",), message, hint=hint, kind=Mistake.MISSING)
    if len(scenario.workloads) > _MAX_WORKLOADS:
        hint = f"use at most {_MAX_WORKLOADS} workloads; `connections` gives one several connections"
        raise document.error(("workloads",), f"has {len(scenario.workloads)} workloads", hint=hint, kind=Mistake.VALUE)


def check_workloads(document: Document, network: Network) -> None:
    """Check that the ends of workloads reach each other. :raises InputError: for the first that do not."""
    for name, workload in network.scenario.workloads.items():
        path: KeyPath = ("workloads", name)
        for key, node in (("from", workload.sender), ("to", workload.receiver)):
            check_sockets(document, (*path, key), network, node, "host")
        if workload.via is not None:
            check_own_link(document, (*path, "via"), network, workload.receiver, workload.via)
        target = network.target(workload)
        if target is None or not network.reaches(workload.sender, target):
            where = (*path, "to" if workload.via is None else "via")
            hint = "connect them through routers: hosts do not forward"
            raise document.error(where, f"is not reachable from '{workload.sender}'", hint=hint, kind=Mistake.REFERENCE)


def check_durations(document: Document, network: Network) -> None:
    """Check that workloads with a duration end in virtual time. :raises InputError: for the first that does not."""
    scenario = network.scenario
    for name, workload in scenario.workloads.items():
        target = network.target(workload)
        if target is None or not getattr(workload, "duration", None) or workload.advances_time:
            continue
        if any(network.nodes[end].cpu is not None for end in (workload.sender, workload.receiver)):
            continue
        if not any(takes_time(scenario.links[link]) for link in network.path_between(workload.sender, target)):
            hint = "give a link on the path a rate or a delay, or give the workload a size"
            path: KeyPath = ("workloads", name, "duration")
            raise document.error(
                path, "never ends: nothing on the path takes virtual time", hint=hint, kind=Mistake.IDLE
            )
