# SPDX-License-Identifier: MIT
"""The same random system calls in both modes of the lab kernel, and where their results part."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from mptcplab.engine.virtual.machine import INPROC

SOURCES = sorted(Path(__file__).parent.glob("*.c"))
MODES = ("off", "on")
#: How the program is linked, which decides where it is loaded; seeds take turns.
FORMS = (("-pie", "-fPIE"), ("-static", "-no-pie", "-fno-PIE"))
_FLAGS = ("-O2", "-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-pthread")
#: Real time of one run. Twenty thousand calls take a few seconds.
_TIMEOUT_SECONDS = 300
#: The number of records that a report shows before the first difference.
_CONTEXT = 12
#: Status of a run that did not end in time, as of timeout(1).
_TIMED_OUT = 124


@dataclass(frozen=True)
class Outcome:
    """The status of a run and what it printed, standard error last."""

    status: int
    output: str
    error: str


@dataclass(frozen=True)
class Finding:
    """A seed whose run fails, or differs between the modes."""

    seed: int
    reason: str


def compile_calls(folder: Path, *, tame: bool = False) -> tuple[Path, ...]:
    """Return the program in each form, compiled into ``folder``.

    A tame one makes the same kinds of calls, with wild addresses too, but accesses only its own memory itself.
    """
    flags = (*_FLAGS, *(("-DTAME",) if tame else ()))
    programs = tuple(folder / f"calls-{number}" for number in range(len(FORMS)))
    for program, form in zip(programs, FORMS, strict=True):
        subprocess.run(["gcc", *flags, *form, *SOURCES, "-o", program], check=True)
    return programs


def run_calls(program: Path, kernel: str, mode: str, seed: int, calls: int, *, trace: bool = False) -> Outcome:
    """Return the outcome of the calls of a seed in one mode, in a lab of their own."""
    words = [sys.executable, "-m", "mptcplab", "exec", "--kernel", kernel, "--seed", str(seed), "--no-stdin"]
    words += ["--expose", str(program.parent), "--", str(program), str(seed), str(calls), *(["trace"] if trace else [])]
    environment = {**os.environ, INPROC: mode}
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False, env=environment
        )
    except subprocess.TimeoutExpired:
        return Outcome(_TIMED_OUT, "", f"no end after {_TIMEOUT_SECONDS} s")
    return Outcome(done.returncode, done.stdout, done.stderr)


def compare_modes(programs: tuple[Path, ...], kernel: str, seed: int, calls: int) -> Finding | None:
    """Return what is wrong with a seed, None if nothing is."""
    program = programs[seed % len(programs)]
    outcomes = [run_calls(program, kernel, mode, seed, calls) for mode in MODES]
    for mode, outcome in zip(MODES, outcomes, strict=True):
        if outcome.status:
            return Finding(seed, f"{mode}: status {outcome.status}\n{outcome.output}{outcome.error}")
    if outcomes[0] == outcomes[1]:
        return None
    traces = [run_calls(program, kernel, mode, seed, calls, trace=True).output for mode in MODES]
    return Finding(seed, "\n".join(_find_parting(*traces)))


def _find_parting(off: str, on: str) -> Iterator[str]:
    """Yield the first different records of two traces, and those before, in the order of time.

    Columns: order, worker, thread, call, result, digest of memory.
    """
    lines, others = (sorted(line for line in text.splitlines() if line[:1].isdigit()) for text in (off, on))
    for number, (line, other) in enumerate(zip_longest(lines, others, fillvalue="(end)")):
        if line != other:
            yield from (f"     {line}" for line in lines[max(0, number - _CONTEXT) : number])
            yield f"off: {line}"
            yield f"on:  {other}"
            return
    yield "the digests differ, but the traces of a second run do not"
