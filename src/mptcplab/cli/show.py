# SPDX-License-Identifier: MIT
"""``mptcplab show``: describes an experiment without running it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import click

from mptcplab.api.sources import open_source
from mptcplab.cli.common import console, print_table
from mptcplab.engine.defaults import default_jobs
from mptcplab.engine.memory import available_memory, labs_at_once, memory_text
from mptcplab.metrics.points import changed_keys_note, short_names
from mptcplab.node.transport import Endpoint
from mptcplab.node.words import ADDED
from mptcplab.plan.algorithms import check_algorithms
from mptcplab.plan.disk import estimate_bytes, size_text
from mptcplab.plan.estimate import estimate_seconds
from mptcplab.plan.events import end_of
from mptcplab.plan.forecast import duration_text
from mptcplab.plan.memory import memory_bytes
from mptcplab.plan.model import USUAL_MEMORY_BYTES
from mptcplab.plan.traces import trace_events
from mptcplab.report.scenario_toml import leave_to_traces, scenario_toml, tables_without_defaults
from mptcplab.report.table import Table
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


def show(file: Path | str, overrides: tuple[str, ...], seed: int | None, repeats: int | None, as_json: bool) -> None:
    """Print what the scenario in ``file`` means: its first point, its runs, and estimates of time and disk space."""
    with open_source(file, overrides=overrides, seed=seed, repeats=repeats) as source:
        _show(source.experiment, as_json=as_json)


def _show(experiment: Experiment, *, as_json: bool) -> None:
    check_algorithms(experiment)
    seconds = sum(estimate_seconds(point.scenario) for point in experiment.points) * experiment.repeats
    memory = max(memory_bytes(point.scenario) for point in experiment.points)
    jobs = labs_at_once(memory, default_jobs(), available_memory())
    seconds /= min(jobs, len(experiment.runs))
    size = sum(estimate_bytes(point.scenario) for point in experiment.points) * experiment.repeats
    if as_json:
        click.echo(json.dumps(_document(experiment, seconds, size, memory)))
        return
    out = console()
    out.print(experiment.title, style="bold", markup=False)
    if experiment.question:
        out.print(experiment.question, markup=False)
    if experiment.changes:
        out.print(f"{changed_keys_note(experiment.changes)}.", markup=False)
    click.echo(f"\n{_first_point(experiment)}")
    for note in _endpoint_notes(experiment.points[0].scenario):
        out.print(note, markup=False)
    print_table(_runs(experiment))
    count = len(experiment.runs)
    at_most = "at most " if experiment.until else ""
    text = f"{at_most}{count} run{'s' if count > 1 else ''}, about {duration_text(seconds)} on an idle machine"
    text += f" with {jobs} jobs, about {size_text(size)} on disk"
    if memory != USUAL_MEMORY_BYTES:
        text += f", in labs of {'up to ' if len(experiment.points) > 1 else ''}{memory_text(memory)} of memory"
    out.print(text, markup=False)


def _first_point(experiment: Experiment) -> str:
    scenario = experiment.points[0].scenario
    tables = tables_without_defaults(scenario)
    steps = trace_events(Network(scenario))
    leave_to_traces(tables, ((event.link, event.direction, event.value) for event in steps))
    text = scenario_toml({key: value for key, value in tables.items() if key not in ("title", "question")}, first={})
    text = _EVENTS.sub(lambda match: f"{_ends(experiment)}{match[0]}", text, count=1)
    return _TRACE.sub(lambda match: f"# {_trace_words(scenario, match['link'], match['side'])}\n{match[0]}", text)


def _endpoint_notes(scenario: Scenario) -> Iterator[str]:
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


def _document(experiment: Experiment, seconds: float, size: float, memory: int) -> dict[str, object]:
    return {
        "title": experiment.title,
        "question": experiment.question,
        "file": str(experiment.file),
        "repeats": experiment.repeats,
        "until": experiment.until.model_dump(mode="json") if experiment.until else None,
        "seeds": [experiment.seed + repeat for repeat in range(experiment.repeats)],
        "runs": len(experiment.runs),
        "estimate_seconds": round(seconds, 1),
        "estimate_bytes": round(size),
        "lab_memory_bytes": memory,
        "points": [
            {"settings": point.settings, "scenario": point.scenario.model_dump(mode="json", by_alias=True)}
            for point in experiment.points
        ],
        "unavailable": [
            {"settings": unavailable.settings, "reason": unavailable.reason} for unavailable in experiment.unavailable
        ],
    }


def _runs(experiment: Experiment) -> Table:
    names = short_names(list(experiment.points[0].settings))
    last = experiment.seed + experiment.repeats - 1
    seeds = str(last) if last == experiment.seed else f"{experiment.seed} to {last}"
    rows = ((*point.settings.values(), seeds) for point in experiment.points)
    lacking = (
        (*unavailable.settings.values(), f"not available: {unavailable.reason}")
        for unavailable in experiment.unavailable
    )
    return Table.build("Runs", (*names.values(), "seeds"), (*rows, *lacking))
