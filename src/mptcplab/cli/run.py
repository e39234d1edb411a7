# SPDX-License-Identifier: MIT
"""``mptcplab run``."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from mptcplab.cli.algorithms import check_algorithms
from mptcplab.cli.options import (
    split_commas,
)
from mptcplab.cli.running import RunOptions, install_command, repeat_command
from mptcplab.cli.sources import loaded_source
from mptcplab.engine.registry import engine_kind
from mptcplab.report.run_commands import default_folder


def run(
    file: Path | str,
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
    trusted: bool,
    junit: Path | None,
) -> None:
    """Execute the experiment in ``file``; write and print its results. :raises LabError: if a run failed."""
    real_time = not engine_kind(engine)[1].capabilities.virtual_time
    with loaded_source(
        file,
        overrides=overrides,
        seed=seed,
        repeats=repeats,
        real_time=real_time,
        executes=True,
        trusted=trusted,
    ) as source:
        check_algorithms(source.experiment)
        # Only now: a mistake in the scenario or in an option is reported without waiting for engines and figures.
        from mptcplab.cli.experiment import Shown, run_experiment

        running, shown = (
            RunOptions(jobs, fresh, cluster, engine),
            Shown(as_json, links, split_commas(columns), sort, junit),
        )
        repeat = partial(repeat_command, source.file, overrides, out, engine=engine)
        install = install_command([str(source.file)], overrides, engine=engine)
        folder = out or default_folder(Path(f"{source.stem}.toml"))
        done = run_experiment(source.experiment, folder, running, shown, repeat, install)
        source.compare([run.folder for run in done if run.folder is not None])
