# SPDX-License-Identifier: MIT
"""The sources of generated tables: the scenarios to run, and the functions that make a table from their results.

A page's marks name these by ``<!-- table NAME -->``. Other blocks contain their source.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench import boot, costs, cpu, curves, large, machines, page, short_runs, start, versions
from tests.smp import outcomes
from tools.docs import beyond_window
from tools.docs.figures import (
    beds,
    behaviour,
    behaviour_dynamics,
    buffers,
    capture_effect,
    capture_statistics,
    coupled_api,
    durations,
    effects,
    expectations,
    fixed_loss,
    machine,
    paper,
    phases,
    scoreboard,
    selftests,
    semicoupled,
    simult_flows,
    window,
)
from tools.docs.figures.grids import GRIDS
from tools.docs.making.pages import ROOT, table_of
from validation import blind_fit, shares
from validation.fidelity import bursts, clock, commands, older, store
from validation.fidelity import page as fidelity_page
from validation.steering import page as steering_page
from validation.wifi import page as wifi_page

from mptcplab.study import inventory
from mptcplab.study.library import study_names
from mptcplab.study.verdict import prints_values

EXAMPLES = ROOT / "examples"
STUDIES = ROOT / "src" / "mptcplab" / "studies"
_BEHAVIOUR = EXAMPLES / "behaviour"
_ENGINES = tuple(sorted((ROOT / "docs").glob("engine-*.md")))
_MODEL = tuple(ROOT / "tools" / "docs" / "figures" / name for name in ("expectations.py", "fluid.py", "rounds.py"))
_SMALL_WINDOWS = tuple(ROOT / "tools" / "docs" / "figures" / name for name in ("fixed_loss.py", "small_windows.py"))
_MACHINES = tuple(sorted(machines.FOLDER.glob("*.json")))


@dataclass(frozen=True)
class Source:
    """The source of a table. ``make`` gets the folder of the scenario's results, if any.

    ``prepare`` returns a kernel to run ``scenario`` on, if it is not the usual one. A cheap source runs nothing, and a
    computed one runs nothing in the lab, but takes long. A source that gathers uses the results of all scenarios of
    the others that run mainline. Any other source without a scenario runs something in the lab.
    """

    make: Callable[[Path], str]
    scenario: Path | None = None
    inputs: tuple[Path, ...] = ()
    prepare: Callable[[Path], str] | None = None
    is_cheap: bool = False
    is_computed: bool = False
    gathers: bool = False


def _behaviour(name: str) -> Source:
    return Source(lambda folder: behaviour.table_of(name, folder), _BEHAVIOUR / f"{name}.toml")


def _dynamics(name: str) -> Source:
    return Source(lambda folder: behaviour_dynamics.table_of(name, folder), _BEHAVIOUR / f"{name}.toml")


def _cost(curve: str) -> Source:
    return Source(lambda _: costs.table(curve), inputs=(costs.FILE,), is_cheap=True)


def _beds(make: Callable[[], str]) -> Source:
    return Source(lambda _: make(), inputs=beds.files(), is_cheap=True)


def _studies(make: Callable[[], str]) -> Source:
    return Source(lambda _: make(), inputs=scoreboard.files(), is_cheap=True)


def _machine(study: str) -> Source:
    return Source(lambda _: beds.machine(study), inputs=(STUDIES / study / inventory.FILE,), is_cheap=True)


def _omissions(study: str) -> Source:
    return Source(
        lambda _: scoreboard.omissions_table(study), inputs=(STUDIES / study / inventory.FILE,), is_cheap=True
    )


def _bench(make: Callable[[list[machines.MeasuredMachine]], str]) -> Source:
    return Source(lambda _: make(machines.load()) + "\n", inputs=_MACHINES, is_cheap=True)


def _durations(make: Callable[[], str]) -> Source:
    return Source(lambda _: make(), inputs=(durations.FILE,), is_cheap=True)


def _wifi(make: Callable[[], str]) -> Source:
    return Source(lambda _: make(), inputs=(wifi_page.FILE,), is_cheap=True)


def _fidelity(make: Callable[[], str]) -> Source:
    return Source(lambda _: make(), inputs=(store.FOLDER,), is_cheap=True)


def _list_engines() -> str:
    """Return the pages of engines, each with its title and the readers that a comment below the title names."""
    rows = []
    for file in _ENGINES:
        title, _, rest = file.read_text().removeprefix("# ").partition("\n")
        rows.append([f"[{title}]({file.name})", re.findall(r"<!-- reader: (.+) -->", rest)[0]])
    return table_of(["page", "reader"], rows)


SOURCES: dict[str, Source] = {
    "engines": Source(lambda _: _list_engines(), is_cheap=True),
    **{subject.name: _behaviour(subject.name) for subject in behaviour.SUBJECTS},
    "many-flows": Source(behaviour.many_flows, _BEHAVIOUR / "many-flows.toml"),
    "many-flows-window": Source(behaviour.four_subflows, _BEHAVIOUR / "many-flows-window.toml"),
    **{name: _dynamics(name) for name in behaviour_dynamics.TABLES},
    "olia-known-loss": Source(lambda _: expectations.known_loss(), inputs=_MODEL, is_computed=True),
    "olia-fixed-loss": Source(
        fixed_loss.compare_links, _BEHAVIOUR / "olia-fixed-loss-window.toml", inputs=_SMALL_WINDOWS
    ),
    "olia-fixed-loss-parts": Source(lambda _: fixed_loss.parts(), inputs=_SMALL_WINDOWS, is_computed=True),
    "wvegas-latecomer": Source(behaviour_dynamics.latecomer, _BEHAVIOUR / "wvegas-latecomer.toml"),
    "backlog": Source(behaviour_dynamics.backlog, _BEHAVIOUR / "backlog.toml"),
    "backlog-window": Source(behaviour_dynamics.backlog, _BEHAVIOUR / "backlog-window.toml"),
    "best-path-window": Source(window.best_path, _BEHAVIOUR / "best-path-window.toml"),
    "clean-paths-window": Source(window.clean_paths, _BEHAVIOUR / "clean-paths-window.toml"),
    "shared-bottleneck-pie": Source(behaviour.random_drops_table, _BEHAVIOUR / "shared-bottleneck-pie.toml"),
    "balia-friendliness-expected": Source(lambda _: behaviour_dynamics.friendliness_expected(), is_cheap=True),
    **{name: Source(buffers.table_of, _BEHAVIOUR / f"{name}.toml") for name in ("receive-buffer", "unequal-paths")},
    "receive-buffer-window": Source(buffers.with_fix, _BEHAVIOUR / "receive-buffer-window.toml"),
    "receive-buffer-counts": Source(buffers.counts_of, _BEHAVIOUR / "receive-buffer.toml"),
    **{name: Source(grid.table_of, _BEHAVIOUR / f"{name}.toml") for name, grid in GRIDS.items()},
    "phases-shared": Source(phases.table_of, _BEHAVIOUR / "phases-shared.toml"),
    "simult-flows": Source(simult_flows.table_of),
    "selftests": Source(selftests.table_of),
    "coupled-api": Source(coupled_api.table_of, inputs=coupled_api.files(), is_cheap=True),
    "capturing": Source(capture_effect.table_of),
    "capture-statistics": Source(capture_statistics.table_of, is_computed=True),
    "bench-ratios": _bench(page.ratio_table),
    "bench-algorithms": _bench(page.algorithm_table),
    "bench-machines": _bench(page.machine_list),
    "bench-start": Source(lambda _: start.table(), inputs=(start.FILE,), is_cheap=True),
    # On the page of the studies, and in README.
    "studies-scoreboard": _studies(scoreboard.values),
    "studies-claims": _studies(scoreboard.claims),
    "studies-kernels": _studies(scoreboard.kernels),
    "studies-outcome": _studies(lambda: scoreboard.values("docs/")),
    "paper-outcome": _studies(paper.outcome),
    **{
        f"values-{name}": _studies(partial(scoreboard.values_of, name)) for name in study_names() if prints_values(name)
    },
    **{f"claims-{name}": _studies(partial(scoreboard.claims_of, name)) for name in study_names()},
    **{f"left-out-{name}": _omissions(name) for name in study_names()},
    **{f"reasons-{name}": _studies(partial(scoreboard.reasons_of_study, name)) for name in study_names()},
    "beds-outcome": _beds(beds.outcome),
    "studies-beds": _beds(beds.outcome),
    "beds-tables": _beds(beds.values_by_table),
    "beds-claims": _beds(beds.claims),
    "beds-remaining": _beds(beds.open_differences),
    **{f"machine-{name}": _machine(name) for name in study_names()},
    "bench-before": Source(lambda _: versions.stored_table(), inputs=(versions.FILE,), is_cheap=True),
    "bench-short": Source(lambda _: short_runs.stored_table(), inputs=(short_runs.FILE,), is_cheap=True),
    **{f"cost-{name}": _cost(name) for name in curves.AXES},
    "test-folders": _durations(durations.folders),
    "test-files": _durations(durations.files),
    "slowest-tests": _durations(durations.tests),
    "loss-timers-full": Source(lambda _: effects.loss_timers(), is_cheap=True),
    "large-file": Source(lambda _: large.table(), inputs=(large.FILE,), is_cheap=True),
    # Measured on demand, see bench/README.md.
    **(
        {"ebpf-shares": Source(lambda _: shares.table(), inputs=(shares.FILE,), is_cheap=True)}
        if shares.FILE.exists()
        else {}
    ),
    **(
        {"stock-boot": Source(lambda _: boot.table(), inputs=(boot.FILE,), is_cheap=True)} if boot.FILE.exists() else {}
    ),
    "steering-layouts": Source(
        lambda _: steering_page.table(steering_page.rows()), inputs=(steering_page.FILE,), is_cheap=True
    ),
    "cpu-gateways": Source(lambda _: cpu.table(), inputs=(cpu.FILE,), is_cheap=True),
    "wifi-saturation": _wifi(wifi_page.saturation_table),
    "wifi-anomaly": _wifi(wifi_page.anomaly_table),
    "wifi-distance": _wifi(wifi_page.distance_table),
    "wifi-aggregation": _wifi(wifi_page.aggregation_table),
    "wifi-distance-n": _wifi(lambda: wifi_page.distance_table("distance-n", "attempts of MPDUs by MCS")),
    "wifi-cost": _wifi(wifi_page.cost_table),
    "wifi-cost-n": _wifi(wifi_page.cost_n_table),
    **{name: _fidelity(make) for name, make in fidelity_page.tables().items()},
    "fidelity-classes": Source(lambda _: fidelity_page.class_table(), inputs=(store.FOLDER, clock.FILE), is_cheap=True),
    "fit-blind": Source(
        lambda _: blind_fit.blind_table(blind_fit.OPERATORS), inputs=(blind_fit.OPERATORS.file,), is_cheap=True
    ),
    "fit-blind-products": Source(
        lambda _: blind_fit.blind_table(blind_fit.PRODUCTS), inputs=(blind_fit.PRODUCTS.file,), is_cheap=True
    ),
    "fidelity-older": Source(lambda _: older.table(), inputs=(older.FILE,), is_cheap=True),
    "fidelity-bursts": Source(lambda _: bursts.table(), inputs=(bursts.FILE, store.FOLDER), is_cheap=True),
    "fidelity-commands": Source(lambda _: commands.table(), inputs=(commands.FILE, store.FOLDER), is_cheap=True),
    "fidelity-clock": Source(lambda _: clock.table(), inputs=(clock.FILE,), is_cheap=True),
    "smp": Source(lambda _: outcomes.table(), inputs=(outcomes.FILE,), is_cheap=True),
    "settings": Source(lambda _: f"{machine.table_of(machine.KERNELS)}\n"),
    "effects-hz": Source(effects.table_of_hz, inputs=effects.scenarios(effects.OF_HZ)),
    "effects-settings": Source(
        effects.table_of_settings, inputs=effects.scenarios(case for case, _ in effects.OF_SETTINGS)
    ),
    "semicoupled-curve": Source(
        semicoupled.table_of, EXAMPLES / "semicoupled" / "curve.toml", prepare=semicoupled.built_kernel
    ),
}


#: Suffix of tables that compare mainline with a kernel that has a fix.
_WITH_FIX = "-window"


def sources_by_folder() -> dict[str, Source]:
    """Return one source for each scenario that runs only mainline, by the name of its folder."""
    sources = {source.scenario.stem: source for source in SOURCES.values() if source.scenario}
    return {name: source for name, source in sorted(sources.items()) if not name.endswith(_WITH_FIX)}


def _beyond_window(work: Path) -> str:
    return beyond_window.table_of(work / "scenarios" / name for name in sources_by_folder())


SOURCES["beyond-window"] = Source(
    _beyond_window,
    inputs=tuple(source.scenario for source in sources_by_folder().values() if source.scenario),
    gathers=True,
)


def inputs_of(scenario: Path) -> Iterator[Path]:
    """Yield a scenario file, the files that it extends, and the traces that any of them names."""
    yield scenario
    text = scenario.read_text()
    base = tomllib.loads(text).get("extends")
    if isinstance(base, str):
        yield from inputs_of((scenario.parent / base).resolve())
    for trace in sorted(scenario.parent.glob("*.csv")):
        if f'"{trace.name}"' in text:
            yield trace
