# SPDX-License-Identifier: MIT
"""Compile one run to a plan."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping

from mptcplab.node.cpu import with_cpu_cost
from mptcplab.node.mptcp import uses_weights
from mptcplab.node.transport import Transport
from mptcplab.plan.estimate import memory_bytes, sample_interval_ns
from mptcplab.plan.events import event_list, hook_commands
from mptcplab.plan.links import (
    bottlenecks,
    interface_commands,
    loopback_commands,
    neighbour_commands,
    offload_commands,
    shaping_commands,
    table_commands,
    wire_commands,
)
from mptcplab.plan.model import Needs, Plan, ProgramSource
from mptcplab.plan.phases import Phases, phases_of
from mptcplab.plan.radios import air_commands, radio_counters, radio_programs, station_commands
from mptcplab.plan.steering import steering_programs
from mptcplab.recording.captures import PREFIX
from mptcplab.scenario import gateways
from mptcplab.scenario.network import Network
from mptcplab.scenario.record import Capture, capture_points
from mptcplab.scenario.schema import Scenario
from mptcplab.steps import Command, Counter, Program, shell
from mptcplab.units import Duration
from mptcplab.workload.base import WorkloadBase
from mptcplab.workload.context import WorkloadContext

# Packet captures: one ``tcpdump`` per interface, which runs from before time zero to the end.
#
# ``tcpdump`` writes to its standard output, since the recording keeps every program's output. The kernel delivers
# packets in blocks, which costs little, but up to a second late; packets not delivered when ``tcpdump`` terminates are
# lost. The engine terminates servers a second after the last client has ended. So a shell delays the signal by most of
# another second, and ``tcpdump`` has a session of its own, which the signal does not reach. Hence a capture lasts at
# least 0.9 s longer than the last client.

#: Buffer for packets that pass while ``tcpdump`` does not run: in virtual time, one burst of the kernel.
_BUFFER_KIB = 16384
_LAST_SECONDS = "0.9"


def capture_programs(network: Network) -> Iterator[Program]:
    """Yield a server for every captured interface."""
    for capture in network.scenario.record.captures:
        for file, device in capture_points(network, capture):
            line = f"setsid {shlex.join(_tcpdump(capture, device))} & p=$!"
            line += f"; trap 'sleep {_LAST_SECONDS}; kill $p' TERM; wait $p || wait $p"
            call = shell(line, "setsid", "tcpdump", "sleep")
            name = PREFIX + file.removesuffix(".pcap")
            yield Program(name, capture.node, "server", call.argv, starts=call.starts)


def _tcpdump(capture: Capture, device: str) -> Iterator[str]:
    yield from ("tcpdump", "-i", device, "-n", "-p", "-s", str(int(capture.snaplen)), "-B", str(_BUFFER_KIB))
    # Without -Z root, Debian's tcpdump switches to another user, who may be missing from /etc/passwd.
    yield from ("-Z", "root", "--time-stamp-precision=nano", "-w", "-")
    if capture.filter is not None:
        yield capture.filter


def compile_plan(scenario: Scenario, *, seed: int) -> Plan:
    """Compile ``scenario``. Pure: the same scenario and seed give the same plan."""
    phases = phases_of(scenario, seed)
    network = Network(scenario, phases.delays_ns)
    workloads = scenario.workloads.values()
    interval_ns = sample_interval_ns(scenario)
    return Plan(
        nodes=tuple(scenario.nodes),
        setup=tuple(_setup(network, seed)),
        programs=(
            *capture_programs(network),
            *radio_programs(network),
            *steering_programs(network, seed),
            *_charge_programs(network, _servers(network)),
            *_charge_programs(network, _programs(network, seed, phases, interval_ns)),
        ),
        counters=tuple(_counters(network)),
        sampled=_sampled_nodes(scenario),
        sample_interval_ns=interval_ns,
        watched=tuple(dict.fromkeys((*_hosts(workloads), *_gateway_nodes(scenario)))),
        needs=_needs(network),
        queues=tuple(bottlenecks(network)) if scenario.record.queues else (),
        events=tuple(event_list(network)),
        bpf=tuple(ProgramSource(source.name, source.text) for source in scenario.bpf),
        memory_bytes=memory_bytes(scenario),
    )


def _setup(network: Network, seed: int) -> Iterator[Command]:
    yield from wire_commands(network)
    yield from air_commands(network, seed)
    yield from table_commands(network)
    shaping: dict[str | None, list[Command]] = {}
    for command in (*shaping_commands(network), *hook_commands(network)):
        shaping.setdefault(command.node, []).append(command)
    for name, node in network.nodes.items():
        context = network.context_of(name)
        settings = (*node.settings(context), *(node.cpu.settings() if node.cpu is not None else ()))
        if settings:
            yield Command(name, ("sysctl", "-qw", *settings))
        yield Command(name, ("ip", "link", "set", "dev", "lo", "up"))
        yield from interface_commands(network, name)
        yield from (route.command(name) for route in node.routes(context))
        yield from node.endpoints(context)
        yield from offload_commands(network, name)
        yield from loopback_commands(network, name)
        yield from shaping.get(name, ())
        yield from node.commands(context)
    for name, gateway in network.scenario.gateways.items():
        yield from gateway.commands(gateways.context_of(network, name))
    yield from station_commands(network)
    yield from neighbour_commands(network)


def _servers(network: Network) -> Iterator[Program]:
    """Yield the programs that nodes and gateways run throughout, in the order of the file."""
    for name, node in network.nodes.items():
        yield from node.programs(network.context_of(name))
    for name, gateway in network.scenario.gateways.items():
        yield from gateway.programs(gateways.context_of(network, name))


def _programs(network: Network, seed: int, phases: Phases, interval_ns: int) -> Iterator[Program]:
    scenario = network.scenario
    port, transports = scenario.server_ports, scenario.transports
    for name, workload in scenario.workloads.items():
        target = network.target(workload)
        assert target is not None, "checked when the scenario was loaded"
        context = WorkloadContext(
            address=target.ip,
            port=port[name],
            client_protocol=transports[workload.sender].protocol,
            server_protocol=transports[workload.receiver].protocol,
            interval_ns=interval_ns,
            seed=seed,
            proxy=gateways.proxy_of(network, name),
            forwarded=gateways.client_address(network, name),
        )
        start = Duration(int(workload.start) + phases.starts_ns.get(name, 0))
        yield from workload.model_copy(update={"start": start}).programs(name, context)


def _charge_programs(network: Network, programs: Iterable[Program]) -> Iterator[Program]:
    """Yield ``programs``, which take time on the nodes that have a CPU."""
    for program in programs:
        yield with_cpu_cost(program) if network.nodes[program.node].cpu is not None else program


def _sampled_nodes(scenario: Scenario) -> tuple[str, ...]:
    """Return the nodes whose sockets are sampled: with gateways all ends of connections, else nodes with programs that
    do not report their own."""
    workloads = scenario.workloads.values()
    asked = _hosts(workload for workload in workloads if scenario.gateways or not workload.samples_itself)
    return tuple(dict.fromkeys((*asked, *_gateway_nodes(scenario))))


def _gateway_nodes(scenario: Scenario) -> tuple[str, ...]:
    return tuple(node for gateway in scenario.gateways.values() for node in (gateway.entry, gateway.exit))


def _hosts(workloads: Iterable[WorkloadBase]) -> tuple[str, ...]:
    """Return the hosts of ``workloads``."""
    return tuple(dict.fromkeys(host for workload in workloads for host in (workload.sender, workload.receiver)))


def _needs(network: Network) -> Needs:
    """Return the names of algorithms anywhere in the scenario that the kernel must have."""
    scenario = network.scenario
    transports = scenario.transports
    over_mptcp = [workload for workload in scenario.workloads.values() if _uses_mptcp(transports, workload)]
    congestion_controls = [each.congestion_control for each in transports.values()]
    congestion_controls += [each.congestion_control for each in scenario.workloads.values()]
    schedulers = [*(each.scheduler for each in transports.values()), *(each.scheduler for each in over_mptcp)]
    return Needs(
        congestion_controls=tuple(dict.fromkeys(name for name in congestion_controls if name is not None)),
        schedulers=tuple(dict.fromkeys(name for name in schedulers if name is not None)),
        scheduler_per_socket=any(workload.scheduler is not None for workload in over_mptcp),
        weights=any(
            transport.weights and uses_weights(network.context_of(name), transport)
            for name, transport in transports.items()
        ),
    )


def _uses_mptcp(transports: Mapping[str, Transport], workload: WorkloadBase) -> bool:
    protocol = getattr(workload, "protocol", None)
    if protocol is not None:
        return bool(protocol == "mptcp")
    return any(transports[host].protocol == "mptcp" for host in (workload.sender, workload.receiver))


def _counters(network: Network) -> Iterator[Counter]:
    for name in network.nodes:
        yield Counter(name, "tc.json", ("tc", "-s", "-j", "qdisc", "show"))
        yield Counter(name, "link.json", ("ip", "-s", "-j", "link", "show"))
    # Nodes that forward are read first.
    for name, node in sorted(network.nodes.items(), key=lambda named: not named[1].forwards):
        yield from node.counters(network.context_of(name))
    yield from radio_counters(network)
