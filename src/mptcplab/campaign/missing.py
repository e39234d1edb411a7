# SPDX-License-Identifier: MIT
"""Finds, before the first run, the programs and kernels that runs and their results need and this machine lacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mptcplab.capture.tshark import tshark_path
from mptcplab.engine.defaults import DEFAULT_ENGINE
from mptcplab.engine.registry import engine_kind
from mptcplab.engine.tools import find_program
from mptcplab.errors import MissingError, combine, try_each
from mptcplab.guest.nodes import PATH_MANAGER
from mptcplab.kernel import find_kernel
from mptcplab.plan.compile import compile_plan
from mptcplab.scenario.load import Run
from mptcplab.steps import OURS


def check_machine(runs: Iterable[Run], *, engine: str = DEFAULT_ENGINE) -> None:
    """Refuse runs of which one would fail for want of a program or a lab kernel.

    :raises MissingError: naming everything that is missing, and how to get it.
    """
    error = combine(find_missing(runs, engine=engine))
    if error is not None:
        raise error


def find_missing(runs: Iterable[Run], *, engine: str = DEFAULT_ENGINE) -> list[MissingError]:
    """Return an error for each program and lab kernel that ``runs`` lack."""
    runs = list({id(run.point): run for run in runs}.values())
    return [*_programs(runs), *_tshark(runs), *_kernels(runs, engine)]


def _programs(runs: Iterable[Run]) -> Iterator[MissingError]:
    used = {name: None for run in runs for name in compile_plan(run.point.scenario, seed=run.seed).uses}
    others = (name for name in used if name != PATH_MANAGER and not name.startswith(OURS))
    yield from (error for _, error in try_each(find_program, others))


def _tshark(runs: Iterable[Run]) -> Iterator[MissingError]:
    if any(one.statistics for run in runs for one in run.point.scenario.record.captures):
        try:
            tshark_path()
        except MissingError as error:
            message = f"{error.message}, which computes the statistics of captures"
            yield MissingError(message, hint=error.hint)


def _kernels(runs: Iterable[Run], engine: str) -> Iterator[MissingError]:
    """Yield an error for each lab kernel that is not built. Engines with other kernels look for them themselves."""
    if not engine_kind(engine)[1].capabilities.chooses_kernel:
        return
    versions = dict.fromkeys(run.point.scenario.kernel for run in runs)
    yield from (error for _, error in try_each(find_kernel, versions))
