# SPDX-License-Identifier: MIT
"""An experiment as a scenario file in which everything is resolved, with comments on what the file leaves open."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mptcplab.node.transport import Endpoint
from mptcplab.node.words import ADDED
from mptcplab.plan.events import end_of, trace_events
from mptcplab.report.scenario_toml import leave_to_traces, scenario_toml, tables_without_defaults
from mptcplab.scenario.load import Experiment
from mptcplab.scenario.network import Network
from mptcplab.scenario.schema import Scenario
from mptcplab.scenario.trace import Trace
from mptcplab.units import Duration

#: Where the events begin in a printed scenario.
_EVENTS = re.compile(r"^(events = \[|\[\[events\]\])", re.MULTILINE)
#: Where a link's trace begins: of both directions, or of one.
_TRACE = re.compile(r"^\[links\.(?P<link>[\w-]+)(?:\.(?P<side>forward|backward))?\.trace\]$", re.MULTILINE)
#: What happens at an end of a link, by the mode of a failure or the type of another event.
_AT_ENDS = {
    "interface": "the interface is set down",
    "carrier": "the interface loses its carrier",
    "address-removed": "the address is removed",
    "address-added": "the address is added",
    "endpoint-added": "the endpoint is added",
    "endpoint-removed": "the endpoint is removed",
    "endpoint-changed": "the endpoint is changed",
}


def first_point_text(experiment: Experiment) -> str:
    """Return the scenario of the first point in TOML, without keys that have their defaults."""
    scenario = experiment.points[0].scenario
    tables = tables_without_defaults(scenario)
    steps = trace_events(Network(scenario))
    leave_to_traces(tables, ((event.link, event.direction, event.value) for event in steps))
    text = scenario_toml({key: value for key, value in tables.items() if key not in ("title", "question")}, first={})
    text = _EVENTS.sub(lambda match: f"{_ends(experiment)}{match[0]}", text, count=1)
    return _TRACE.sub(lambda match: f"# {_trace_words(scenario, match['link'], match['side'])}\n{match[0]}", text)


def endpoint_notes(scenario: Scenario) -> Iterator[str]:
    """Yield what is easily misunderstood of the endpoints that a node lists, or that events add."""
    listed = [
        (name, endpoint)
        for name, transport in scenario.transports.items()
        for endpoint in (transport.endpoints if isinstance(transport.endpoints, tuple) else ())
    ]
    network = Network(scenario)
    added = [
        (end_of(network, event).node, Endpoint(link=event.link, flags=event.words, port=event.port))
        for event in scenario.events
        if event.type == ADDED
    ]
    for name, endpoint in (*listed, *added):
        if endpoint.caution is not None:
            flags = f"flag{'s' * (len(endpoint.flags) > 1)} {', '.join(endpoint.flags)}"
            yield f"Note: the endpoint of {name} on {endpoint.link} has the {flags}: {endpoint.caution}."


def _trace_words(scenario: Scenario, link: str, side: str | None) -> str:
    """Return what a trace contains: how long it is, its rates, and its pauses."""
    settings = scenario.links[link]
    trace = (settings.backward if side == "backward" else settings.forward).trace
    assert isinstance(trace, Trace), "a trace that is printed, and was read"
    series = trace.read
    parts = [f"{Duration(series.period_ns)}, then {'its last values' if trace.end == 'hold' else 'again'}"]
    if "rate" in series.keys:
        rates = series.values("rate")
        mean, low, high = (f"{rate / 1e6:.4g}" for rate in (series.mean_of("rate"), min(rates), max(rates)))
        parts.append(f"mean {mean} Mbit/s, from {low} to {high}")
        paused = sum(lasts for rate, lasts in zip(rates, series.durations_ns, strict=True) if rate == 0)
        if paused:
            parts.append(f"{Duration(paused)} at 0, in which packets wait: an event `down` loses them")
    return "; ".join(parts)


def _ends(experiment: Experiment) -> str:
    """Return comments that name the ends of links at which events happen, if these name none themselves.

    Comments, since the key would make it another scenario, whose runs are not recorded.
    """
    ends: dict[tuple[int, str], int] = {}
    for at, point in enumerate(experiment.points):
        for number, event in enumerate(point.scenario.events):
            if event.needs_node and event.node is None:
                done = _AT_ENDS[event.type if event.mode is None else event.mode]
                place = f"{end_of(Network(point.scenario), event).node}, the only host at {event.link}"
                ends.setdefault((number, f"{done} at {place}; `node` names another end"), at)
    return "".join(
        f"# events.{number}{', in other points' if first else ''}: {text}\n" for (number, text), first in ends.items()
    )
