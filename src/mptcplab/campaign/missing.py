# SPDX-License-Identifier: MIT
"""Finds, before the first run, the programs and kernels that runs and their results need and this machine lacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mptcplab.capture.tshark import tshark_path
from mptcplab.engine.defaults import DEFAULT_ENGINE
from mptcplab.engine.memory import find_memory_missing
from mptcplab.engine.protocol import WithMemory, WithNeeds
from mptcplab.engine.registry import engine_kind
from mptcplab.engine.tools import BUILDERS, find_program, needs_compiler
from mptcplab.errors import MissingError, try_each
from mptcplab.guest.nodes import PATH_MANAGER
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.memory import memory_bytes
from mptcplab.scenario.load import Run
from mptcplab.steps import OURS

#: Debian's package of the compiler only recommends the one with the headers that our programs include.
_HEADERS = "libc6-dev"


def find_missing(runs: Iterable[Run], *, engine: str = DEFAULT_ENGINE, on_cluster: bool = False) -> list[MissingError]:
    """Return an error for each program and kernel that ``runs`` lack, each subject once, and for too little memory.

    ``on_cluster``: other machines execute them, with their own memory.
    """
    runs = list({id(run.point): run for run in runs}.values())
    by_subject: dict[str, MissingError] = {}
    memory = () if on_cluster else _memory(runs, engine)
    for error in (*_compiler(), *_programs(runs, engine), *_tshark(runs), *_kernels(runs, engine), *memory):
        by_subject.setdefault(error.subject, error)
    return list(by_subject.values())


def _compiler() -> Iterator[MissingError]:
    """Yield an error for each program that compiles ours, if there is no compiler and ours are not installed.

    Without `make`, a machine still has what was compiled before.
    """
    if not needs_compiler():
        return
    errors = dict(try_each(find_program, BUILDERS))
    if "gcc" in errors:
        errors["gcc"].packages += (_HEADERS,)
        yield from errors.values()


def _programs(runs: Iterable[Run], engine: str) -> Iterator[MissingError]:
    executes = engine_kind(engine)[1].capabilities.executes_commands
    plans = (compile_plan(run.point.scenario, seed=run.seed) for run in runs)
    used = {name: None for plan in plans for name in plan.uses if not (executes and name in plan.dispensable)}
    others = (name for name in used if name != PATH_MANAGER and not name.startswith(OURS))
    yield from (error for _, error in try_each(find_program, others))


def _tshark(runs: Iterable[Run]) -> Iterator[MissingError]:
    if any(capture.statistics for run in runs for capture in run.point.scenario.record.captures):
        try:
            tshark_path()
        except MissingError as error:
            message = f"{error.message}, which computes the statistics of captures"
            yield MissingError(message, hint=error.hint, subject=error.subject, packages=error.packages)


def _kernels(runs: Iterable[Run], engine: str) -> Iterator[MissingError]:
    """Yield an error for each kernel, or other part of the engine, that this machine lacks."""
    kind = engine_kind(engine)[1]
    if isinstance(kind, WithNeeds):
        yield from kind.find_missing(dict.fromkeys(run.point.scenario.kernel for run in runs))


def _memory(runs: Iterable[Run], engine: str) -> Iterator[MissingError]:
    """Yield an error if the largest lab has no space on this machine."""
    kind = engine_kind(engine)[1]
    if isinstance(kind, WithMemory):
        sizes = [memory_bytes(run.point.scenario) for run in runs]
        yield from find_memory_missing(kind.free_memory(), sizes)
