# SPDX-License-Identifier: MIT
"""``mptcplab show`` and ``mptcplab plan``: describe an experiment without running it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click

from mptcplab.cli import complete
from mptcplab.cli.algorithms import check_algorithms
from mptcplab.cli.common import console, default_jobs, print_table
from mptcplab.cli.export import export
from mptcplab.cli.options import json_option, repeats_option, scenario_argument, seed_option, set_option
from mptcplab.cli.points import chosen_point, point_option
from mptcplab.cli.space import size_text
from mptcplab.errors import InputError
from mptcplab.export.registry import FORMATS
from mptcplab.metrics.points import changed_note, short_names
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.disk import estimate_bytes
from mptcplab.plan.estimate import estimate_seconds
from mptcplab.plan.events import end_of
from mptcplab.plan.forecast import duration_text
from mptcplab.plan.phases import phase_notes, phases_of
from mptcplab.plan.script import script
from mptcplab.report.scenario_toml import known_tables, leave_to_traces, scenario_toml
from mptcplab.report.table import Table
from mptcplab.scenario.load import Experiment, load
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
}


@click.command()
@scenario_argument
@set_option()
@seed_option()
@repeats_option
@json_option
def show(file: Path, overrides: tuple[str, ...], seed: int | None, repeats: int | None, as_json: bool) -> None:
    """Show the scenario in FILE as mptcplab reads it: its first point, its runs, and estimates of time and disk space.

    The first point is printed as a scenario with presets, sweep values and bases resolved. Defaults are left out.
    """
    experiment = load(file, overrides=overrides, seed=seed, repeats=repeats)
    check_algorithms(experiment)
    seconds = sum(estimate_seconds(point.scenario) for point in experiment.points) * experiment.repeats
    seconds /= min(default_jobs(), len(experiment.runs))
    size = sum(estimate_bytes(point.scenario) for point in experiment.points) * experiment.repeats
    if as_json:
        click.echo(json.dumps(_document(experiment, seconds, size)))
        return
    out = console()
    out.print(experiment.title, style="bold", markup=False)
    if experiment.question:
        out.print(experiment.question, markup=False)
    if experiment.changes:
        out.print(f"{changed_note(experiment.changes)}.", markup=False)
    click.echo(f"\n{_first_point(experiment)}")
    print_table(_runs(experiment))
    count = len(experiment.runs)
    at_most = "at most " if experiment.until else ""
    text = f"{at_most}{count} run{'s' if count > 1 else ''}, about {duration_text(seconds)} on an idle machine"
    text += f" with {default_jobs()} jobs, about {size_text(size)} on disk"
    out.print(text, markup=False)


def _first_point(experiment: Experiment) -> str:
    scenario = experiment.points[0].scenario
    tables = known_tables(scenario)
    events = compile_plan(scenario, seed=experiment.seed).events
    leave_to_traces(tables, ((event.link, event.direction, event.value) for event in events if event.kind == "trace"))
    text = scenario_toml({key: value for key, value in tables.items() if key not in ("title", "question")}, first={})
    text = _EVENTS.sub(lambda found: f"{_ends(experiment)}{found[0]}", text, count=1)
    return _TRACE.sub(lambda found: f"# {_trace_words(scenario, found['link'], found['side'])}\n{found[0]}", text)


def _trace_words(scenario: Scenario, link: str, side: str | None) -> str:
    """Return what a trace contains: how long it is, its rates, and its pauses."""
    settings = scenario.links[link]
    trace = (settings.backward if side == "backward" else settings.forward).trace
    assert isinstance(trace, Trace), "a trace that is printed, and was read"
    series = trace.read
    parts = [f"{Duration(series.period_ns)}, then {'its last values' if trace.end == 'hold' else 'again'}"]
    if "rate" in series.keys:
        rates = series.values("rate")
        mean, low, high = (f"{rate / 1e6:.4g}" for rate in (series.mean("rate"), min(rates), max(rates)))
        parts.append(f"mean {mean} Mbit/s, from {low} to {high}")
        paused = sum(lasts for rate, lasts in zip(rates, series.durations_ns, strict=True) if rate == 0)
        if paused:
            parts.append(f"{Duration(paused)} at 0, in which packets wait: an event `down` loses them")
    return "; ".join(parts)


def _ends(experiment: Experiment) -> str:
    """Return comments that name the ends of links at which events happen, if these name none themselves.

    Comments, since the key would make it another scenario, whose runs are not those that are recorded.
    """
    found: dict[tuple[int, str], int] = {}
    for at, point in enumerate(experiment.points):
        for number, event in enumerate(point.scenario.events):
            if event.needs_node and event.node is None:
                done = _AT_ENDS[event.type if event.mode is None else event.mode]
                place = f"{end_of(Network(point.scenario), event).node}, the only host at {event.link}"
                found.setdefault((number, f"{done} at {place}; `node` names another end"), at)
    return "".join(
        f"# events.{number}{', in other points' if first else ''}: {text}\n" for (number, text), first in found.items()
    )


def _document(experiment: Experiment, seconds: float, size: float) -> dict[str, object]:
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
        "points": [
            {"settings": point.settings, "scenario": point.scenario.model_dump(mode="json", by_alias=True)}
            for point in experiment.points
        ],
        "unavailable": [{"settings": one.settings, "reason": one.reason} for one in experiment.unavailable],
    }


def _runs(experiment: Experiment) -> Table:
    names = short_names(list(experiment.points[0].settings))
    last = experiment.seed + experiment.repeats - 1
    seeds = str(last) if last == experiment.seed else f"{experiment.seed} to {last}"
    rows = tuple((*point.settings.values(), seeds) for point in experiment.points)
    lacking = tuple((*one.settings.values(), f"not available: {one.reason}") for one in experiment.unavailable)
    return Table("Runs", (*names.values(), "seeds"), (*rows, *lacking))


@click.command()
@scenario_argument
@set_option()
@seed_option("Seed of the run. Default: the scenario's first.")
@point_option()
@click.option(
    "--node",
    metavar="NODE",
    shell_complete=complete.nodes,
    help="Write the configuration of this node for a real machine, instead of the commands of the run.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    help="Format of the configuration: a shell script, files for systemd, or files for OpenWrt. Default: sh.",
)
@click.option(
    "--device",
    "devices",
    multiple=True,
    metavar="LINK=DEVICE[,...]",
    shell_complete=complete.links_of_node,
    help="Interface of the machine for a link of the node. Repeatable. Default: one with the link's name.",
)
@click.option(
    "--password-file",
    type=click.Path(path_type=Path),
    help="File with the password of the node's gateways. Default: that of the lab, which is public.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the files. Default: standard output.")
def plan(
    file: Path,
    overrides: tuple[str, ...],
    seed: int | None,
    wanted: tuple[str, ...],
    node: str | None,
    form: str | None,
    devices: tuple[str, ...],
    password_file: Path | None,
    out: Path | None,
) -> None:
    """Print the commands of one run of FILE as a readable shell script: the first run, or that of --point.

    With --node, write what makes a real machine one of its nodes: addresses, routes, MPTCP's endpoints, settings,
    packet rules and programs, but not what links do.
    """
    experiment = load(file, overrides=overrides, seed=seed)
    chosen = chosen_point(experiment.points, wanted)
    if node is not None:
        if seed is not None:
            raise InputError("--seed has no effect with --node", hint="remove it: a seed changes links and workloads")
        export(chosen.scenario, node, form or next(iter(FORMATS)), devices, password_file, out)
        return
    given = {"--format": form, "--device": devices, "--password-file": password_file, "--out": out}
    for option, value in given.items():
        if value:
            raise InputError(f"{option} needs --node", hint="name a node of the scenario, like --node client")
    settings = ", ".join(f"{key} = {value}" for key, value in chosen.settings.items())
    title = f"{experiment.title}{f' ({settings})' if settings else ''}, seed {experiment.seed}"
    notes = phase_notes(phases_of(chosen.scenario, experiment.seed))
    click.echo(script(compile_plan(chosen.scenario, seed=experiment.seed), title=title, notes=notes), nl=False)
