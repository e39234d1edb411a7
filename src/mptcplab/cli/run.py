# SPDX-License-Identifier: MIT
"""``mptcplab run``."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from mptcplab.cli.algorithms import check_algorithms
from mptcplab.cli.options import (
    listed,
)
from mptcplab.cli.running import RunOptions, install_command, repeat_command
from mptcplab.engine.registry import engine_kind
from mptcplab.report.run_commands import default_folder
from mptcplab.scenario.load import load


def run(
    file: Path,
    overrides: tuple[str, ...],
    seed: int | None,
    repeats: int | None,
    out: Path | None,
    jobs: int | None,
    engine: str,
    cluster: str | None,
    fresh: bool,
    as_json: bool,
    links: bool,
    columns: str | None,
    sort: str | None,
    junit: Path | None,
) -> None:
    """Execute the experiment in ``file``; write and print its results. :raises LabError: if a run failed."""
    real_time = not engine_kind(engine)[1].capabilities.virtual_time
    experiment = load(file, overrides=overrides, seed=seed, repeats=repeats, real_time=real_time)
    check_algorithms(experiment)
    # Only now: a mistake in the scenario or in an option is reported without waiting for engines and figures.
    from mptcplab.cli.experiment import Shown, run_experiment

    running, shown = RunOptions(jobs, fresh, cluster, engine), Shown(as_json, links, listed(columns), sort, junit)
    repeat = partial(repeat_command, file, overrides, out, engine=engine)
    install = install_command([str(file)], overrides, engine=engine)
    run_experiment(experiment, out or default_folder(file), running, shown, repeat, install)
