# SPDX-License-Identifier: MIT
"""Divides a plan among the machines of an inventory. Pure: what does not fit is named without asking any machine.

A plan's links are pairs of virtual interfaces; here they are cables, and their ends are interfaces of the inventory,
which get the links' names. So all other commands of the plan stay as they are, with two exceptions where the inventory
does not allow an interface to be shaped: commands of `tc` are refused, and offloads are left as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from mptcplab.errors import InputError
from mptcplab.fields import LOOPBACK
from mptcplab.guest.nodes import PATH_MANAGER
from mptcplab.network.tables import FOLDER
from mptcplab.plan.model import Plan, used_by
from mptcplab.steps import Command, CommandLine, Counter, Program, Queue
from mptcplab.workload.context import FLOW
from mptcplab_ssh.inventory import InventoryInterface, InventoryMachine, MachineInventory

_WIRE = ("ip", "link", "add")
#: Commands that suit queues of packets, and so belong to shaping.
_OFFLOADS = (("ethtool", "-K"), ("gso_max_segs",), ("gso_max_size",))
_VIRTUAL = "use another --engine: virtual, stock or local"


@dataclass(frozen=True)
class FittedNode:
    """One node's part of a plan. ``interfaces`` are by the names of links, in the order of the plan."""

    node: str
    machine: InventoryMachine
    interfaces: Mapping[str, InventoryInterface]
    commands: tuple[Command, ...]
    events: tuple[Command, ...]
    programs: tuple[Program, ...]
    counters: tuple[Counter, ...]
    queues: tuple[Queue, ...]
    is_sampled: bool
    is_watched: bool

    @property
    def steps(self) -> tuple[CommandLine, ...]:
        """Every command line."""
        return (*self.commands, *self.events, *self.programs, *self.counters)

    @property
    def uses(self) -> tuple[str, ...]:
        """The programs that the machine needs, beside the common ones."""
        return used_by(self.steps)


def fit(plan: Plan, inventory: MachineInventory, *, name: str) -> list[FittedNode]:
    """Return each node's part of ``plan``, in the plan's order; ``name`` is the inventory's, for messages.

    :raises InputError: naming what the inventory lacks or does not allow.
    """
    _check_neighbours(plan)
    _check_loopbacks(plan)
    wires = list(_find_wires(plan))
    missing = [node for node in plan.nodes if node not in inventory.nodes]
    if missing:
        message = f"the inventory {name} does not have the nodes {', '.join(missing)} of the scenario"
        raise InputError(message, hint=f"add [nodes.{missing[0]}] with host and interfaces")
    for wire in wires:
        for node in wire.nodes:
            if wire.link not in inventory.nodes[node].interfaces:
                message = f"the inventory {name} does not say which interface of {node} is its end of {wire.link}"
                raise InputError(message, hint=f'add {wire.link} = "eth1" to [nodes.{node}.interfaces]')
    _check_programs(plan)
    tables = _tables(plan)
    return [
        _fit_node(node, plan, inventory, [wire for wire in wires if node in wire.nodes], tables) for node in plan.nodes
    ]


def link_ends(plan: Plan) -> dict[str, tuple[str, str, str]]:
    """Return for each link one of its nodes, the other, and the other's address."""
    addresses = {
        (command.node, dict(pairwise(command.argv))["dev"]): command.argv[3].partition("/")[0]
        for command in plan.setup
        if command.argv[:3] == ("ip", "address", "add")
    }
    return {
        wire.link: (*wire.nodes, addresses[wire.nodes[1], wire.link])
        for wire in _find_wires(plan)
        if (wire.nodes[1], wire.link) in addresses
    }


@dataclass(frozen=True)
class _Wire:
    link: str
    nodes: tuple[str, str]
    mtu: str


def _find_wires(plan: Plan) -> Iterator[_Wire]:
    for command in plan.setup:
        if command.node is None and command.argv[:3] == _WIRE and "veth" in command.argv:
            first, second = (value for key, value in pairwise(command.argv) if key == "netns")
            words = dict(pairwise(command.argv))
            yield _Wire(words["name"], (first, second), words["mtu"])


def _tables(plan: Plan) -> tuple[Command, ...]:
    """Return the commands that write files which `tc` reads. :raises InputError: for any other command of no node."""
    outside = [command for command in plan.setup if command.node is None and "veth" not in command.argv]
    for command in outside:
        if not any(FOLDER in word for word in command.argv):
            message = f"the engine 'ssh' has no place for a command outside of all nodes: {' '.join(command.argv)[:80]}"
            raise InputError(message, hint=_VIRTUAL)
    return tuple(outside)


def _check_neighbours(plan: Plan) -> None:
    """Refuse neighbour entries: they have the link-layer addresses of virtual interfaces, and real ones keep theirs."""
    if any(command.argv[:2] == ("ip", "neighbour") for command in plan.setup):
        message = "the engine 'ssh' leaves link-layer addresses to the machines, which resolve their neighbours"
        raise InputError(message, hint=f'write neighbours = "resolve", or {_VIRTUAL}')


def _check_loopbacks(plan: Plan) -> None:
    """Refuse settings of loopback interfaces, over which other programs of a real machine talk."""
    refused = {
        ("ethtool", "-K", LOOPBACK): ("the offloads of loopback interfaces", "loopback_offload"),
        ("tc", "qdisc", "replace", "dev", LOOPBACK): ("the queues of loopback interfaces", "loopback_packet_time"),
    }
    for words, (what, key) in refused.items():
        if any(command.argv[: len(words)] == words for command in plan.setup):
            message = f"the engine 'ssh' leaves {what} to the machines"
            raise InputError(message, hint=f"remove {key}, or {_VIRTUAL}")


def _check_programs(plan: Plan) -> None:
    if PATH_MANAGER in plan.uses:
        message = "the engine 'ssh' has no path manager of user space"
        raise InputError(message, hint='use the kernel\'s: path_manager = "kernel"')
    if any(f"{FLOW} with " in " ".join(step.argv) for step in plan.steps):
        message = "the engine 'ssh' cannot give another program's sockets a congestion control or a scheduler"
        raise InputError(message, hint="set them for the hosts in [transport]")
    if plan.needs.scheduler_per_socket or plan.needs.weights:
        message = "only the lab's kernels have schedulers of single sockets and weights of paths"
        raise InputError(message, hint=f"set the scheduler for the hosts in [transport], or {_VIRTUAL}")


def _fit_node(
    node: str, plan: Plan, inventory: MachineInventory, wires: list[_Wire], tables: tuple[Command, ...]
) -> FittedNode:
    machine = inventory.nodes[node]
    interfaces = {wire.link: machine.interfaces[wire.link] for wire in wires}
    setup = [command for command in plan.setup if command.node == node]
    events = [command for event in plan.events for command in event.commands if command.node == node]
    ends = _shaping_ends([*setup, *events], interfaces)
    for command in (*setup, *events):
        _check_shape(command, node, interfaces, ends)
    sized = [Command(node, ("ip", "link", "set", "dev", wire.link, "mtu", wire.mtu)) for wire in wires]
    shapes = any(interface.shape for interface in interfaces.values())
    return FittedNode(
        node,
        machine,
        interfaces,
        (
            *sized,
            *(tables if shapes else ()),
            *(command for command in setup if not _keeps_offloads(command, interfaces)),
        ),
        tuple(events),
        tuple(_log_delays(program) for program in plan.programs if program.node == node),
        tuple(counter for counter in plan.counters if counter.node == node),
        tuple(queue for queue in plan.queues if queue.node == node),
        node in plan.sampled,
        node in plan.watched,
    )


def _log_delays(program: Program) -> Program:
    """Return a program that logs each message's delay, so that it can be corrected by the difference of two clocks."""
    sends = FLOW in program.argv and "--message-bytes" in program.argv and "--log" not in program.argv
    return replace(program, argv=(*program.argv, "--log")) if sends else program


def _shaping_ends(commands: list[Command], interfaces: Mapping[str, InventoryInterface]) -> dict[str, str]:
    """Return the link whose packets a device shapes, for each device: the link's own, and where it redirects to."""
    ends = {link: link for link in interfaces}
    for command in commands:
        if "redirect" in command.argv:
            source, target = (value for key, value in pairwise(command.argv) if key == "dev")
            ends[target] = ends.get(source, source)
    return ends


def _check_shape(
    command: Command, node: str, interfaces: Mapping[str, InventoryInterface], ends: Mapping[str, str]
) -> None:
    if command.argv[0] != "tc":
        return
    link = ends.get(dict(pairwise(command.argv)).get("dev", ""))
    if link is None or interfaces[link].shape:
        return
    device = interfaces[link].device
    message = f"the scenario shapes {link} at {node}, and the inventory does not allow that for {device} there"
    hint = f'write {link} = {{ device = "{device}", shape = true }}, or remove what the scenario says of the link'
    raise InputError(message, hint=hint)


def _keeps_offloads(command: Command, interfaces: Mapping[str, InventoryInterface]) -> bool:
    """Return whether ``command`` changes offloads of an interface that may not be shaped."""
    argv = command.argv
    if argv[:2] == _OFFLOADS[0]:
        link = argv[2]
    elif any(words[0] in argv for words in _OFFLOADS[1:]):
        link = dict(pairwise(argv))["dev"]
    else:
        return False
    return link in interfaces and not interfaces[link].shape
