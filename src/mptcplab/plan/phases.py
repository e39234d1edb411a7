# SPDX-License-Identifier: MIT
"""Offsets of workloads and links that a seed determines, so that runs with different seeds differ in the phase between
packet sequences, which a scenario leaves open (docs/decisions/0011-phases.md).

There are two kinds, both in whole nanoseconds and constant during a run:

- The start of a workload is delayed, by less than one round trip of a full packet on the idle path; or by less than
  its ``start_spread``, if it has one.
- The delay of each direction of a link with a rate is shifted. The possible values span exactly the transmission time
  of one packet at this rate. Floyd and Jacobson (1991) show that the propagation delay modulo this time decides whose
  packets a full drop-tail queue drops; they call this the phase.

An offset is a function of the seed and of the name of the workload or direction, and of nothing else. So it stays
the same when another workload or link is added, and points of a sweep that share a seed share its phases.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from mptcplab.network.frames import full_frame
from mptcplab.scenario.links import DirectionSettings, Link
from mptcplab.scenario.network import Network
from mptcplab.scenario.schema import Scenario
from mptcplab.workload.base import WorkloadBase

_SECOND_NS = 10**9
#: One tick of the lab kernel's timers at HZ=1000. Retransmission and delayed-ACK timers expire on ticks, so a start
#: that moves by less would meet them in a part of their phases only.
_TICK_NS = 10**6
#: A workload that starts later than this would not start "at" the instant that the scenario names.
_MAX_START_NS = _SECOND_NS
_DRAW_BITS = 64


@dataclass(frozen=True)
class Phases:
    """The offsets of one run in ns: of starts by workload, of delays by (link, "forward" or "backward").

    Offsets of delays may be negative; the delay that they are added to is always larger.
    """

    starts_ns: Mapping[str, int] = field(default_factory=dict)
    delays_ns: Mapping[tuple[str, str], int] = field(default_factory=dict)


def phases_of(scenario: Scenario, seed: int) -> Phases:
    """Return the offsets of ``scenario`` with ``seed``; with ``phases = "fixed"`` only from ``start_spread``."""
    network, is_fixed = Network(scenario), scenario.phases == "fixed"
    starts = {
        name: _draw(seed, f"workload {name}", start_span_ns(network, workload))
        for name, workload in scenario.workloads.items()
        if not is_fixed or workload.start_spread is not None
    }
    if is_fixed:
        return Phases(starts)
    delays = {}
    for direction in network.directions.values():
        link, (source, _) = scenario.links[direction.link], network.ends(direction)
        low_ns, span_ns = delay_span_ns(link, direction.settings, from_host=not network.nodes[source.node].shapes)
        if span_ns:
            delays[direction.key] = low_ns + _draw(seed, f"link {direction.link} {direction.name}", span_ns)
    return Phases(starts, delays)


def phase_notes(phases: Phases) -> list[str]:
    """Return the offsets as lines of text; none without offsets."""
    starts = [f"start of {name}: {_format_offset(offset)}" for name, offset in phases.starts_ns.items()]
    delays = [
        f"delay of {name} {direction}: {_format_offset(offset)}"
        for (name, direction), offset in phases.delays_ns.items()
    ]
    head = 'Phases of this seed, included in the commands below (phases = "fixed" removes them, but no start_spread):'
    return [head, *(f"  {line}" for line in (*starts, *delays))] if starts or delays else []


def _format_offset(offset_ns: int) -> str:
    if offset_ns >= _SECOND_NS:
        return f"+{offset_ns // _SECOND_NS}.{offset_ns % _SECOND_NS:09d} s"
    return f"{'-' if offset_ns < 0 else '+'}{abs(offset_ns) // 1000}.{abs(offset_ns) % 1000:03d} us"


def start_span_ns(network: Network, workload: WorkloadBase) -> int:
    """Return the exclusive upper bound of the offset of the workload's start.

    It is its ``start_spread``, if it has one; else the round trip of a full packet on the idle path of its first
    connection, at least a tick of the kernel and a ``read_quantum``, and at most a second.
    """
    if workload.start_spread is not None:
        return int(workload.start_spread)
    target = network.target(workload)
    links = network.path_between(workload.sender, target) if target is not None else []
    round_trip = 0
    for link in (network.scenario.links[name] for name in links):
        for settings in (link.forward, link.backward):
            round_trip += int(settings.delay) + packet_ns(link, settings)
    quantum = int(getattr(workload, "read_quantum", 0))
    return min(_MAX_START_NS, max(round_trip, _TICK_NS, quantum))


def delay_span_ns(link: Link, settings: DirectionSettings, *, from_host: bool) -> tuple[int, int]:
    """Return the lowest offset of the direction's delay, and how many ns the offsets span; ``(0, 0)`` for none.

    The offsets are centred on zero if the delay allows it, so that the mean over seeds is the delay of the scenario.
    No offset makes a delay shorter than its jitter, or negative.

    A host that shapes its own egress without a delay gets no offset: netem would orphan its packets from their socket,
    and TCP would no longer see its own queue (``skb_orphan_partial`` in net/sched/sch_netem.c).
    """
    span = packet_ns(link, settings)
    if from_host and link.shape == "sender" and not (settings.delay or settings.extra_delay):
        return 0, 0
    room = int(settings.delay) - int(settings.jitter)
    return -min(room, span // 2), span


def packet_ns(link: Link, settings: DirectionSettings) -> int:
    """Return the transmission time of a full packet at the direction's rate, in ns; 0 without a rate."""
    if settings.rate is None:
        return 0
    octets = full_frame(int(link.mtu)) + int(settings.overhead)
    return octets * 8 * _SECOND_NS // int(settings.rate)


def _draw(seed: int, name: str, span: int) -> int:
    """Return a number from 0 to ``span`` - 1, all with the same probability up to one part in 2^64 / ``span``."""
    digest = hashlib.sha256(f"phase {seed} {name}".encode()).digest()
    return span * int.from_bytes(digest[: _DRAW_BITS // 8], "big") >> _DRAW_BITS
