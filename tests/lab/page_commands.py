# SPDX-License-Identifier: MIT
"""Commands of the documentation's pages, whose runs other tests and sessions may have made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tools.docs.making.work import Experiment

from mptcplab.scenario.load import load

from .bench import Bench


@contextmanager
def reuse_runs(bench: Bench, experiments: Iterable[Experiment], folder: Path) -> Iterator[None]:
    """Let commands in ``folder`` find the runs of their experiments; what is missing they make, and it is kept."""
    with ExitStack() as stack:
        for experiment in experiments:
            options = dict(experiment.options)
            seed, repeats = (int(options[name]) if name in options else None for name in ("--seed", "--repeats"))
            overrides = [value for name, value in experiment.options if name == "--set"]
            runs = load(folder / experiment.file, overrides=overrides, seed=seed, repeats=repeats).runs
            stack.enter_context(bench.reuse(runs, folder / experiment.out))
        yield
