# SPDX-License-Identifier: MIT
"""The same network, some times slower: as many packets, for each of which the emulated CPU has as many times as long.

An instruction of the emulated CPU takes at least a nanosecond. Where nothing but the CPU and the kernel has a time of
its own, a slower network is the same as a faster CPU. So everything that a scenario says in seconds or bits per second
becomes slower:

- links: rates, delays, jitter and its quantiles, queues in time, traces, and the times of queue disciplines, also a
  discipline's defaults if the scenario gives none;
- workloads: starts, durations, rates, and the times between arrivals, requests, messages and reads; a call keeps its
  codec's 64 kbit/s, and so takes more of a slower line, on both sides;
- events and outages of gateways: their instants, and the rates and delays that they set;
- the record: the time between samples.

What is in bytes, packets or percent stays: files, buffers, buckets, queues in packets, loss and its bursts. So does
what belongs to the kernel: the first and the minimum retransmission timeout, the number of SYNs before a fallback,
delayed acknowledgements, the resolution of timers, CUBIC's growth, which is a function of seconds, and settings of
``sysctl``. Both sides of a comparison have the same of these but for the resolution.

One of these has to follow: after three SYNs without an answer, MPTCP falls back to TCP. A slower network whose round
trips are as long as that would compare TCP, so that there the kernel sends MPTCP's option in all SYNs.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError
from validation.fidelity.forms import NEW_SETTING, with_sysctl

from mptcplab.fields import Part
from mptcplab.network.disciplines.registry import DISCIPLINES
from mptcplab.plan.estimate import RatedNetwork
from mptcplab.scenario.links import DIRECTIONS, DirectionSettings
from mptcplab.scenario.schema import Scenario
from mptcplab.scenario.trace import Trace, TraceSeries, TraceStep
from mptcplab.units import Duration, QueueLength, Rate

#: How many times slower a network is made, which makes the CPU as many times faster for it: usually, and where that
#: is not enough, first where delays are long.
TIMES, MANY_TIMES, MOST_TIMES = 4, 16, 64
#: RFC 6298: what TCP waits before it sends its first SYN again; Linux waits as long before the next ones.
_FIRST_TIMEOUT_NS = 10**9
#: Of the SYNs at 0, 1, 2 and 3 s, the last one has no option. The answer comes later than that with this round trip, as
#: ARP takes another one before.
_FALLBACK_S = 1.5
#: It always keeps the option with this (Documentation/networking/mptcp-sysctl.rst).
_PATIENCE = {NEW_SETTING: 128}
#: Limits of the time that a program may take, which no run reaches.
_GUARDS = ("timeout",)
#: Times of single kinds of workloads that stay: the duration of the voice in a packet decides on the packet's size.
_KEPT = {"voip": ("interval",)}
#: What disciplines take for missing parameters: net/sched/sch_codel.c, sch_fq_codel.c, sch_pie.c, sch_fq_pie.c, and
#: sch_cake.c.
_CODEL = {"target": Duration(5_000_000), "interval": Duration(100_000_000)}
_PIE = {"target": Duration(15_000_000), "update": Duration(15_000_000)}
_OF_DISCIPLINES: dict[str, dict[str, Duration]] = {
    "codel": _CODEL,
    "fq_codel": _CODEL,
    "pie": _PIE,
    "fq_pie": _PIE,
    "cake": {"interval": Duration(100_000_000)},
}
#: Disciplines without times: they count bytes.
_WITHOUT_TIMES = ("tail-drop", "red")


@dataclass(frozen=True)
class Slowdown:
    """Makes networks slower by the factor ``times``."""

    times: int

    def apply(self, scenario: Scenario) -> Scenario:
        """Return the scenario with rates divided, and times multiplied, checked again.

        :raises ValueError: with the reason, if something in it has a time that cannot be changed.
        """
        if reason := find_slowdown_obstacle(scenario) or self._beyond_timers(scenario):
            raise ValueError(reason)
        traces = {
            (name, side): _scale_trace(link, side) for name, link in scenario.links.items() for side in DIRECTIONS
        }
        changed = scenario.model_copy(update=self._keys(scenario))
        document = changed.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        # The content of files is not in the document.
        document |= {"bpf": scenario.bpf} if scenario.bpf else {}
        try:
            checked = type(scenario).model_validate(document)
        except ValidationError as error:
            first = error.errors()[0]
            raise ValueError(f"made slower, {'.'.join(map(str, first['loc']))} {first['msg']}") from error
        return _patient(self._with_traces(checked, traces))

    def for_older(self, scenario: Scenario) -> Scenario:
        """Return what :meth:`apply` does, for kernels without the setting that keeps MPTCP where handshakes take long.

        :raises ValueError: with the reason, if the scenario needs it, or cannot be made slower.
        """
        changed = self.apply(scenario)
        if _has_long_handshakes(changed):
            raise ValueError("made slower, a handshake takes so long that MPTCP would fall back on this kernel")
        return changed

    def _beyond_timers(self, scenario: Scenario) -> str:
        """Return that a delay would exceed what the kernel waits before it sends a SYN again; else empty.

        The transfer would begin otherwise, and MPTCP might fall back to TCP.
        """
        sides = (side for link in scenario.links.values() for side in (link.forward, link.backward))
        longest = max((int(side.delay) for side in sides), default=0) * self.times
        return (
            ""
            if self.times == TIMES or 2 * longest < _FIRST_TIMEOUT_NS
            else (f"{self.times} times slower, a delay of {longest / 1e9:g} s would exceed the timer of SYNs")
        )

    def _keys(self, part: Part) -> dict[str, Any]:
        """Return the keys of a table that become slower, with the keys of the tables in it."""
        kept = (*_GUARDS, *_KEPT.get(getattr(part, "kind", ""), ()))
        values = {key: self._value(getattr(part, key)) for key in type(part).model_fields if key not in kept}
        new = {key: value for key, value in values.items() if value is not None}
        if not isinstance(part, DirectionSettings):
            return new
        if part.rate is None or DISCIPLINES[part.discipline].sizes_itself:
            new.pop("queue", None)  # The default, which has no effect here, and would be refused.
        times = _OF_DISCIPLINES.get(part.discipline, {}) if part.rate is not None else {}
        times_of = {key: self._value(time) for key, time in times.items() if getattr(part.aqm, key) is None}
        return new | ({"aqm": new.get("aqm", part.aqm).model_copy(update=times_of)} if times_of else {})

    def _value(self, value: Any) -> Any:
        """Return what a value becomes; None if it stays. A trace is changed after the check: it is a file there."""
        if isinstance(value, Duration):
            return Duration(value * self.times) if value else None
        if isinstance(value, Rate):
            return Rate(value // self.times)
        if isinstance(value, QueueLength):
            # A queue in bytes or packets stays as it is: at the lower rate it lasts longer.
            return None if value.time is None else QueueLength(time=Duration(value.time * self.times))
        if isinstance(value, Part) and not isinstance(value, Trace):
            return value.model_copy(update=self._keys(value))
        if isinstance(value, tuple):
            return tuple(self._value_or_same(item) for item in value)
        if isinstance(value, dict):
            return {key: self._value_or_same(item) for key, item in value.items()}
        return None

    def _value_or_same(self, value: Any) -> Any:
        changed = self._value(value)
        return value if changed is None else changed

    def _with_traces(self, scenario: Scenario, traces: dict[tuple[str, str], Trace | None]) -> Scenario:
        """Return the scenario with slower traces, which a check reads from no file."""
        links = dict(scenario.links)
        for (name, side), trace in traces.items():
            if trace is None:
                continue
            series = self._series(trace.read)
            of_side = trace.model_copy(update={"series": series, "sha256": series.sha256})
            settings = getattr(links[name], side).model_copy(update={"trace": of_side})
            links[name] = links[name].model_copy(update={side: settings})
        return scenario.model_copy(update={"links": links})

    def _series(self, series: TraceSeries) -> TraceSeries:
        """Return a trace whose steps come later, with lower rates, longer delays, and the same losses."""
        steps = (
            TraceStep(
                step.at_ns * self.times, tuple((key, self._trace_value(key, value)) for key, value in step.values)
            )
            for step in series.steps
        )
        digest = hashlib.sha256(f"{series.sha256}, {self.times} times slower".encode()).hexdigest()
        return replace(series, steps=tuple(steps), period_ns=series.period_ns * self.times, sha256=digest)

    def _trace_value(self, key: str, value: int) -> int:
        if key == "rate":
            return value // self.times
        return value * self.times if key in ("delay", "jitter") else value


#: What most comparisons use.
slower = Slowdown(TIMES).apply
#: The same for kernels without the setting that keeps MPTCP where handshakes take long.
slower_for_older = Slowdown(TIMES).for_older


def _has_long_handshakes(scenario: Scenario) -> bool:
    network = RatedNetwork(scenario)
    trips = (path.rtt_s for workload in scenario.workloads.values() for path in network.paths_of(workload))
    return max(trips, default=0.0) >= _FALLBACK_S


def _patient(scenario: Scenario) -> Scenario:
    """Return the scenario with MPTCP's option in all SYNs if a handshake takes as long as handshakes that have it."""
    return with_sysctl(scenario, _PATIENCE) if _has_long_handshakes(scenario) else scenario


def find_slowdown_obstacle(scenario: Scenario) -> str:
    """Return why a scenario cannot be made slower; empty if it can."""
    if scenario.has_radios:
        return "a radio cannot be made slower: its rates and times are those of its mode"
    if any(getattr(node, "cpu", None) for node in scenario.nodes.values()):
        return "a CPU of a node is a speed that the lab models itself"
    directions = [side for link in scenario.links.values() for side in (link.forward, link.backward)]
    used = {side.discipline for side in directions if side.rate is not None}
    unknown = sorted(used - {*_OF_DISCIPLINES, *_WITHOUT_TIMES})
    return f"the times of the discipline {', '.join(unknown)} are not known" if unknown else ""


def _scale_trace(link: Any, side: str) -> Trace | None:
    trace: Trace | None = getattr(link, side).traced
    return trace
