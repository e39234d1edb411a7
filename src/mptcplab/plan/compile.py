# SPDX-License-Identifier: MIT
"""Compile one run to a plan."""

from __future__ import annotations

from collections.abc import Iterator

from mptcplab.plan.capture import capture_programs
from mptcplab.plan.events import changing, event_list, hook_commands
from mptcplab.plan.links import (
    bottlenecks,
    interface_commands,
    offload_commands,
    shaping_commands,
    table_commands,
    wire_commands,
)
from mptcplab.plan.middlebox import middlebox_commands
from mptcplab.plan.model import Needs, Plan
from mptcplab.plan.path_manager import path_managers
from mptcplab.plan.phases import Phases, phases_of
from mptcplab.plan.routes import route_commands
from mptcplab.plan.sampling import sample_interval_ns
from mptcplab.plan.transport import mptcp_commands, sysctl_command
from mptcplab.scenario.network import Network
from mptcplab.scenario.schema import Scenario
from mptcplab.scenario.weights import weighs
from mptcplab.steps import Command, Counter, Program
from mptcplab.units import Duration
from mptcplab.workload.base import WorkloadBase
from mptcplab.workload.context import FIRST_PORT, Context

#: Read back at the end: what was in force, not what was asked for.
_TRANSPORT_SETTINGS = (
    "net.mptcp.scheduler",
    "net.mptcp.scheduler_weights",
    "net.mptcp.pm_type",
    "net.mptcp.checksum_enabled",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
)


def compile_plan(scenario: Scenario, *, seed: int) -> Plan:
    """The plan of ``scenario``. Pure: the same scenario and seed give the same plan."""
    phases = phases_of(scenario, seed)
    network = Network(scenario, phases.delays_ns)
    return Plan(
        nodes=(*scenario.hosts, *scenario.routers),
        setup=tuple(_setup(network)),
        programs=(*capture_programs(network), *path_managers(network), *_programs(network, seed, phases)),
        counters=tuple(_counters(network)),
        sampled=tuple(_sampled(scenario)),
        sample_interval_ns=sample_interval_ns(scenario),
        watched=tuple(_talking(scenario)),
        needs=_needs(network),
        queues=tuple(bottlenecks(network, changing(network))) if scenario.record.queues else (),
        events=tuple(event_list(network)),
    )


def ports(scenario: Scenario) -> dict[str, int]:
    """The port that each workload's server listens on."""
    return {name: FIRST_PORT + number for number, name in enumerate(scenario.workloads)}


def _setup(network: Network) -> Iterator[Command]:
    yield from wire_commands(network)
    yield from table_commands(network)
    shaping: dict[str | None, list[Command]] = {}
    for command in (*shaping_commands(network, changing(network)), *hook_commands(network)):
        shaping.setdefault(command.node, []).append(command)
    for node in (*network.scenario.hosts, *network.scenario.routers):
        yield sysctl_command(network, node)
        yield Command(node, ("ip", "link", "set", "dev", "lo", "up"))
        yield from interface_commands(network, node)
        yield from route_commands(network, node)
        yield from mptcp_commands(network, node)
        yield from offload_commands(network, node)
        yield from shaping.get(node, ())
        yield from middlebox_commands(network, node)


def _programs(network: Network, seed: int, phases: Phases) -> Iterator[Program]:
    scenario = network.scenario
    port = ports(scenario)
    for name, described in scenario.workloads.items():
        target = network.target(described)
        assert target is not None, "checked when the scenario was loaded"
        context = Context(
            address=target.ip,
            port=port[name],
            client_protocol=scenario.hosts[described.sender].transport.protocol,
            server_protocol=scenario.hosts[described.receiver].transport.protocol,
            interval_ns=sample_interval_ns(scenario),
            seed=seed,
        )
        start = Duration(int(described.start) + phases.starts_ns.get(name, 0))
        yield from described.model_copy(update={"start": start}).programs(name, context)


def _sampled(scenario: Scenario) -> list[str]:
    """Hosts whose programs do not sample their own sockets."""
    others = (one for one in scenario.workloads.values() if not one.samples_itself)
    return list(dict.fromkeys(host for one in others for host in (one.sender, one.receiver)))


def _talking(scenario: Scenario) -> list[str]:
    """Hosts that workloads run on."""
    return list(dict.fromkeys(host for one in scenario.workloads.values() for host in (one.sender, one.receiver)))


def _needs(network: Network) -> Needs:
    """The names that the scenario asks for, wherever it does."""
    scenario = network.scenario
    transports = [host.transport for host in scenario.hosts.values()]
    own = [one for one in scenario.workloads.values() if _speaks_mptcp(scenario, one)]
    controls = [each.congestion_control for each in transports]
    controls += [each.congestion_control for each in scenario.workloads.values()]
    schedulers = [*(each.scheduler for each in transports), *(each.scheduler for each in own)]
    return Needs(
        congestion_controls=tuple(dict.fromkeys(name for name in controls if name is not None)),
        schedulers=tuple(dict.fromkeys(name for name in schedulers if name is not None)),
        scheduler_per_socket=any(one.scheduler is not None for one in own),
        weights=any(host.transport.weights and weighs(scenario, name) for name, host in scenario.hosts.items()),
    )


def _speaks_mptcp(scenario: Scenario, described: WorkloadBase) -> bool:
    own = getattr(described, "protocol", None)
    if own is not None:
        return bool(own == "mptcp")
    return any(scenario.hosts[host].transport.protocol == "mptcp" for host in (described.sender, described.receiver))


def _counters(network: Network) -> Iterator[Counter]:
    for node in (*network.scenario.hosts, *network.scenario.routers):
        yield Counter(node, "tc.json", ("tc", "-s", "-j", "qdisc", "show"))
        yield Counter(node, "link.json", ("ip", "-s", "-j", "link", "show"))
    for router in network.scenario.routers:
        if any(middlebox_commands(network, router)):
            yield Counter(router, "nft.json", ("nft", "-j", "list", "ruleset"))
    for host in network.scenario.hosts:
        yield Counter(host, "sysctl.txt", ("sysctl", "-e", *_TRANSPORT_SETTINGS))
        yield Counter(host, "nstat.json", ("nstat", "-a", "-s", "-z", "-j"))
        yield Counter(host, "mptcp-endpoint.json", ("ip", "-j", "mptcp", "endpoint", "show"))
        yield Counter(host, "mptcp-limits.json", ("ip", "-j", "mptcp", "limits", "show"))
