# SPDX-License-Identifier: MIT
"""Tables of docs/behaviour.md, from results of examples/behaviour/. ``make docs`` writes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.docs.beyond_window import count_dropped
from tools.docs.figures import expectations
from tools.docs.making.pages import table_of as markdown

from mptcplab.report.table import interval_text
from mptcplab.results import open_results
from mptcplab.stats import Interval, mean_interval

#: Of a full frame of 1514 bytes, 1448 are payload.
PAYLOAD = 1448 / 1514
NAMES = {"reno": "uncoupled Reno", "lia": "LIA", "olia": "OLIA", "balia": "BALIA"}
_CONTROL = re.compile(r"transport\.congestion_control$")

Run = dict[str, dict[str, Any]]
"""One run: a row of `Results.runs` for each workload."""


@dataclass(frozen=True)
class Subject:
    """One scenario: the value measured in a run, its place in the table, and the expected values."""

    name: str
    axis: str
    place: Callable[[Run], str]
    measure: Callable[[Run], float]
    theories: Callable[[str, str], tuple[float | None, float | None]]
    """By place and congestion control: the values of the fluid model, and of the equations with random losses."""


@dataclass(frozen=True)
class Point:
    """A measured value at a place of the table, and the values that theory expects, or None."""

    place: str
    name: str
    measured: Interval
    fluid: float | None = None
    random: float | None = None


def table_of(name: str, folder: Path) -> str:
    """Return the table of one scenario, from the results in ``folder``."""
    (subject,) = (subject for subject in SUBJECTS if subject.name == name)
    return _table(subject, _points(subject, _runs(folder))) + "\n"


def random_drops_table(folder: Path) -> str:
    """Return the table of the shared bottleneck for results with another queue."""
    return table_of("rfc6356-shared-bottleneck", folder)


#: Column titles for many-flows.toml, by protocol, scheduler and number of connections.
_FOUR = {
    ("mptcp", "default", "1"): "four subflows, `default`",
    ("mptcp", "minrtt", "1"): "four subflows, `minrtt`",
    ("mptcp", "default", "4"): "four MPTCP connections",
    ("tcp", "default", "4"): "four TCP flows",
}


def many_flows(folder: Path) -> str:
    """Return the goodput of four subflows and of four flows, as a multiple of a TCP flow's beside them."""
    keys = ("hosts.client.transport.protocol", "hosts.client.transport.scheduler", "workloads.mptcp.connections")

    def sender(run: Run) -> str:
        protocol, scheduler, connections = (setting(run, key) for key in keys)
        return _FOUR[protocol, scheduler, connections]

    return _beside_tcp_flows(folder, sender, lambda runs: interval_text(_relative_to_tcp(runs)))


def four_subflows(folder: Path) -> str:
    """Return the goodput of four subflows as a multiple of a TCP flow's, and the number of runs with drops."""

    def sender(run: Run) -> str:
        fix = ", with the fix" if setting(run, "kernel").endswith("-window") else ""
        return f"`{setting(run, 'hosts.client.transport.scheduler')}`{fix}"

    def cell(runs: Sequence[Run]) -> str:
        drops = sum(count_dropped(folder / "runs" / setting(run, "run")) > 0 for run in runs)
        return f"{interval_text(_relative_to_tcp(runs))}; {drops}"

    return _beside_tcp_flows(folder, sender, cell)


def _beside_tcp_flows(folder: Path, sender: Callable[[Run], str], cell: Callable[[Sequence[Run]], str]) -> str:
    """Return a table with a row for each number of TCP flows and a column for each sender."""
    runs: dict[str, dict[str, list[Run]]] = {}
    for run in _runs(folder):
        runs.setdefault(setting(run, "workloads.tcp.connections"), {}).setdefault(sender(run), []).append(run)
    heads = list(next(iter(runs.values())))
    body = [[beside, *(cell(runs[head]) for head in heads)] for beside, runs in runs.items()]
    return markdown(["TCP flows beside", *heads], body)


def _relative_to_tcp(runs: Sequence[Run]) -> Interval:
    return mean_interval([goodput(run, "mptcp") / _tcp_flow(run, "tcp", "tcp") for run in runs])


def _runs(folder: Path) -> list[Run]:
    runs: dict[str, Run] = {}
    for row in open_results(folder).runs.to_dicts():
        runs.setdefault(row["run"], {})[row["workload"]] = row
    return list(runs.values())


def control(run: Run) -> str:
    """Return the congestion control of the run."""
    row = next(iter(run.values()))
    return next(str(value) for key, value in row.items() if _CONTROL.search(key))


def setting(run: Run, key: str) -> str:
    """Return the value of a swept key, as written in the scenario."""
    return str(next(iter(run.values()))[key])


def is_tcp(run: Run) -> bool:
    """Return whether the run is a reference, in which the users of MPTCP use TCP."""
    row = next(iter(run.values()))
    return any(value == "tcp" for key, value in row.items() if key.endswith("transport.protocol"))


def goodput(run: Run, workload: str) -> float:
    """Return the goodput of all connections of a workload, in Mbit/s."""
    return float(run[workload]["goodput_mbps"])


def _points(subject: Subject, runs: Sequence[Run]) -> list[Point]:
    values: dict[tuple[str, str], list[float]] = {}
    for run in _with_reference(runs) if subject.name in _REFERENCE else runs:
        name = "TCP" if is_tcp(run) and subject.name not in _REFERENCE else control(run)
        values.setdefault((subject.place(run), name), []).append(subject.measure(run))
    points = []
    for (place, name), of_point in values.items():
        fluid, random = subject.theories(place, name)
        points.append(Point(place, NAMES.get(name, name), mean_interval(of_point), fluid, random))
    return points


#: Scenarios in which a value is a ratio to the same seed's run with TCP.
_REFERENCE = {
    "rfc6356-best-path": ("transport.congestion_control", "transport.protocol"),
    "olia-scenario-b": ("hosts.red-*.transport.protocol",),
}


def _with_reference(runs: Sequence[Run]) -> list[Run]:
    """Return the MPTCP runs, each with the rows of the TCP run of the same seed and point added as ``tcp NAME``."""

    def other_settings(run: Run) -> tuple[Any, ...]:
        row = next(iter(run.values()))
        swept = {key: value for key, value in row.items() if re.match(r"(links|hosts|workloads|transport)\.", key)}
        keys = _REFERENCE["rfc6356-best-path" if "bulk" in run else "olia-scenario-b"]
        return row["seed"], *(value for key, value in swept.items() if key not in keys)

    tcp = {other_settings(run): run for run in runs if is_tcp(run)}
    return [
        run | {f"tcp {name}": row for name, row in tcp[other_settings(run)].items()} for run in runs if not is_tcp(run)
    ]


def _link2(run: Run) -> str:
    loss, delay = setting(run, "links.link2.forward.loss"), setting(run, "links.link2.delay")
    return f"{loss}, {2 * int(delay.split()[0])} ms"


def _tcp_flow(run: Run, workload: str, connections: str) -> float:
    return goodput(run, workload) / int(setting(run, f"workloads.{connections}.connections"))


def _total(run: Run, prefix: str = "") -> float:
    return goodput(run, f"{prefix}blue") + goodput(run, f"{prefix}red")


def _share(run: Run, link: str) -> float:
    return next(float(value) for key, value in run["mptcp"].items() if key.startswith(f"share {link}>"))


def _users(run: Run) -> str:
    return f"{int(setting(run, 'workloads.mptcp.connections')) // 5}"


def _tcp_share(run: Run) -> float:
    return goodput(run, "tcp") / (10 * PAYLOAD)


SUBJECTS = (
    Subject(
        "rfc6356-best-path",
        "loss and round-trip time of link2 (link1: 0.2 %, 40 ms)",
        _link2,
        lambda run: goodput(run, "bulk") / goodput(run, "tcp bulk"),
        expectations.best_path,
    ),
    Subject(
        "rfc6356-shared-bottleneck",
        "subflows beside TCP flows",
        lambda run: f"{setting(run, 'topology.paths')} beside {setting(run, 'workloads.tcp.connections')}",
        lambda run: goodput(run, "mptcp") / _tcp_flow(run, "tcp", "tcp"),
        expectations.shared_bottleneck,
    ),
    Subject(
        "rfc6356-congested-path",
        "TCP flows on link2 (on link1: 1)",
        lambda run: setting(run, "workloads.tcp2.connections"),
        lambda run: _share(run, "access2"),
        expectations.congested_path,
    ),
    Subject(
        "olia-scenario-a",
        "users of MPTCP / users of TCP",
        _users,
        _tcp_share,
        expectations.scenario_a,
    ),
    Subject(
        "olia-scenario-b",
        "",
        lambda _: "after",
        lambda run: _total(run) / _total(run, "tcp "),
        expectations.scenario_b,
    ),
    Subject(
        "olia-scenario-c",
        "users of MPTCP / users of TCP",
        _users,
        _tcp_share,
        expectations.scenario_c,
    ),
)


def _cell(point: Point) -> str:
    theories = [f"{value:.2f}" for value in (point.fluid, point.random) if value is not None]
    return _interval(point.measured) + (f" ({', '.join(theories)})" if theories else "")


def _interval(value: Interval) -> str:
    return f"{value.mean:.2f}" + (f" ± {value.half_width:.2f}" if value.half_width is not None else "")


def _table(subject: Subject, points: Sequence[Point]) -> str:
    places = list(dict.fromkeys(point.place for point in points))
    names = list(dict.fromkeys(point.name for point in points))
    cells = {(point.place, point.name): _cell(point) for point in points}
    lines = [
        f"| {subject.axis or 'users'} | " + " | ".join(names) + " | n |",
        "| --- " * (len(names) + 2) + "|",
    ]
    for place in places:
        counts = sorted({point.measured.n for point in points if point.place == place})
        row = [cells.get((place, name), "") for name in names]
        lines.append(f"| {place} | " + " | ".join(row) + f" | {', '.join(map(str, counts))} |")
    return "\n".join(lines)
