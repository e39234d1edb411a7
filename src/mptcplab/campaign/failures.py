# SPDX-License-Identifier: MIT
"""Find what runs lack before the first of them, and report the failures of many runs as one."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mptcplab.capture.tshark import tshark_path
from mptcplab.ebpf.objects import CONGESTION_CONTROLS, find_missing_tools
from mptcplab.engine.defaults import DEFAULT_ENGINE
from mptcplab.engine.memory import find_memory_missing
from mptcplab.engine.protocol import WithMemory, WithNeeds, engine_kind
from mptcplab.engine.tools import BUILDERS, find_program, needs_compiler
from mptcplab.errors import MissingError, try_each
from mptcplab.files import report_write_errors, write_text
from mptcplab.guest.nodes import PATH_MANAGER
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.estimate import memory_bytes
from mptcplab.scenario.load import Run
from mptcplab.steps import OURS

if TYPE_CHECKING:
    from mptcplab.campaign.lab import CompletedRun


# One report for the failures of many runs, and the commands that repeat runs or get what runs lack.

_MAX_FAILURES = 10
FAILED_FILE = "failed.sh"


def check_failures(
    done: Sequence[CompletedRun], command: Callable[[Run], str], folder: Path, *, name: str = FAILED_FILE
) -> None:
    """Write the commands that repeat failed runs to FOLDER/NAME, or remove that file if none failed.

    :raises LabError: if a run failed; it names the failed runs and the command that repeats each.
    """
    failed = [(completed_run.run, completed_run.error) for completed_run in done if completed_run.error is not None]
    script = folder / name
    if not failed:
        script.unlink(missing_ok=True)
        return
    with report_write_errors(folder):
        write_text(script, "".join(_script((run, error.message, command(run)) for run, error in failed)))
    first, error = failed[0]
    lines = [f"to repeat this run alone: {command(first)}"]
    if error.hint:
        lines.insert(0, error.hint)
    for run, other in failed[1:_MAX_FAILURES]:
        lines.append(f"also failed: {run.label}: {other.message}\n        {command(run)}")
    if len(failed) > _MAX_FAILURES:
        lines.append(f"and {len(failed) - _MAX_FAILURES} more: {script} has a command for each failed run")
    count = f"{len(failed)} of {len(done)} runs failed, the first being " if len(done) > 1 else ""
    raise type(error)(f"{count}{first.label}: {error.message}", hint="\n  ".join(lines))


def repeat_command(
    file: Path, changes: Iterable[str], out: Path | None, failed: Run, *, engine: str = DEFAULT_ENGINE
) -> str:
    """Return the command that repeats one run alone: ``changes`` are for ``--set``, and ``out`` for ``--out``."""
    words = ["mptcplab", "run", str(file), "--seed", str(failed.seed), "--repeats", "1"]
    for change in (*changes, *(f"{key}={value}" for key, value in failed.point.settings.items())):
        words += ["--set", change]
    words += ["--out", str(out)] if out is not None else []
    words += ["--engine", engine] if engine != DEFAULT_ENGINE else []
    return shlex.join(words)


def install_command(
    names: Iterable[str], changes: Iterable[str] = (), *, engine: str = DEFAULT_ENGINE, beds: int | None = None
) -> str:
    """Return the command that gets what this machine lacks for the scenario files and tables ``names``."""
    words = ["mptcplab", "doctor"]
    for name in names:
        words += ["--for", name]
    for change in changes:
        words += ["--set", change]
    words += ["--engine", engine] if engine != DEFAULT_ENGINE else []
    words += ["--beds", str(beds)] if beds is not None else []
    return shlex.join([*words, "--install"])


def _script(failures: Iterable[tuple[Run, str, str]]) -> Iterable[str]:
    """Yield the parts of a shell script. Messages become comments of one line each."""
    yield "#!/bin/sh\n# Failed runs: each command repeats one of them.\n"
    for run, message, command in failures:
        yield f"\n# {' '.join(f'{run.label}: {message}'.split())}\n{command}\n"


# Finds, before the first run, the programs and kernels that runs and their results need and this machine lacks.

#: Debian's package of the compiler only recommends the one with the headers that our programs include.
_HEADERS = "libc6-dev"


def find_missing(runs: Iterable[Run], *, engine: str = DEFAULT_ENGINE, on_cluster: bool = False) -> list[MissingError]:
    """Return an error for each program and kernel that ``runs`` lack, each subject once, and for too little memory.

    ``on_cluster``: other machines execute them, with their own memory.
    """
    runs = list({id(run.point): run for run in runs}.values())
    by_subject: dict[str, MissingError] = {}
    memory = () if on_cluster else _memory(runs, engine)
    programs = (*_compiler(), *_programs(runs, engine), *_tshark(runs), *_ebpf_tools(runs, engine))
    for error in (*programs, *_kernels(runs, engine), *memory):
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


def _ebpf_tools(runs: Iterable[Run], engine: str) -> Iterator[MissingError]:
    """Yield an error for each thing that compiles and loads the eBPF programs of ``runs``."""
    if not engine_kind(engine)[1].capabilities.bpf:
        return
    brings_programs = any(run.point.scenario.bpf for run in runs)
    chosen = {
        name for run in runs for name in compile_plan(run.point.scenario, seed=run.seed).needs.congestion_controls
    }
    if brings_programs or chosen.intersection(CONGESTION_CONTROLS):
        yield from find_missing_tools(with_headers=brings_programs)


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
