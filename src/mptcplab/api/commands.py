# SPDX-License-Identifier: MIT
"""Run any program in virtual time, on a machine without a network or on a node of a scenario.

A bare lab boots faster than the language of scenarios is imported: this module imports it only for a scenario.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mptcplab.engine.defaults import DEFAULT_STALL_SECONDS
from mptcplab.engine.protocol import interruptible
from mptcplab.engine.virtual.session import BARE, ProgramExit, Session, run_session, run_terminal
from mptcplab.engine.virtual.streams import Streams
from mptcplab.errors import InputError, LabError, reason
from mptcplab.kernel import KernelBuild, find_kernel
from mptcplab.plan.model import Plan
from mptcplab.units import Duration, UnitError

if TYPE_CHECKING:
    from mptcplab.api.sources import Changes

_SHELL = ("bash", "--norc", "-i")


@dataclass(frozen=True)
class CommandResult:
    """The end of a program: its exit status, or 128 + n for signal n, its outputs, and its duration in virtual time."""

    status: int
    stdout: bytes
    stderr: bytes
    virtual_s: float


@dataclass(frozen=True)
class LabCommand:
    """A program that is ready to run in a lab; ``is_shell`` if it is an interactive shell.

    :func:`prepare_command` makes it.
    """

    session: Session
    plan: Plan
    kernel: KernelBuild
    seed: int
    is_shell: bool

    def execute(self, input: bytes | None = None) -> CommandResult:
        """Run the program to its end and return what it printed: ``subprocess.run`` of the lab.

        ``input`` is its standard input, None for a closed one. A status other than 0 is not an error.

        :raises LabError: if it does not end, or the lab fails. :raises KeyboardInterrupt: if a signal interrupts it.
        """
        with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
            stdin.write(input or b"")
            stdin.seek(0)
            source = None if input is None else stdin.fileno()
            ended = self.run(Streams(stdin=source, stdout=stdout.fileno(), stderr=stderr.fileno()))
            stdout.seek(0)
            stderr.seek(0)
            return CommandResult(ended.status, stdout.read(), stderr.read(), ended.virtual_ns / 1e9)

    def run(self, streams: Streams) -> ProgramExit:
        """Run the program with descriptors of this process as its standard streams.

        :raises LabError: if it does not end, the lab fails, or an output cannot be written.
        :raises KeyboardInterrupt: if a signal interrupts it.
        """
        with _lab() as (cpu, stop):
            return run_session(self.kernel, self.plan, self.session, streams, seed=self.seed, cpu=cpu, stop=stop)

    def run_terminal(self) -> ProgramExit:
        """Run the program on a terminal that is connected to the terminal of this process. Raises as :meth:`run` does.

        Virtual time stops while a shell waits for a command.
        """
        prompt = {"PS1": f"{self.session.node or 'lab'}:\\w# ", "TERM": os.environ.get("TERM", "dumb")}
        session = replace(self.session, environment={**prompt, **self.session.environment})
        with _lab() as (cpu, stop):
            return run_terminal(
                self.kernel, self.plan, session, prompt=self.is_shell, seed=self.seed, cpu=cpu, stop=stop
            )


def prepare_command(
    argv: Sequence[str] = (),
    *,
    scenario: str | Path | None = None,
    node: str | None = None,
    kernel: str | None = None,
    seed: int | None = None,
    set: Changes = (),
    environment: Mapping[str, str] | None = None,
    timeout: str = "1 h",
    stall: str = f"{DEFAULT_STALL_SECONDS:g} s",
    out: str | Path | None = None,
    expose: Sequence[str | Path] = (),
) -> LabCommand:
    """Return a program that is ready to run in virtual time, as ``mptcplab exec``; by default an interactive shell.

    ``argv`` has the words of its command. Without a ``scenario``, the machine has no network. With one, the network of
    its first point is set up, and the program runs on ``node``, by default the first; ``set`` changes keys. ``kernel``
    is the version of a lab kernel, ``seed`` the seed of all random numbers. The lab has its own environment variables,
    and ``environment``.
    ``timeout`` is virtual time, ``stall`` real time without progress of virtual time; after either, the program is
    terminated. It can write the folder ``out`` as /run/out, and read folders below /tmp and /run that ``expose`` has.

    :raises InputError: if the scenario or an argument is wrong, or the kernel cannot do what the scenario needs.
    :raises MissingError: if the kernel is not built.
    """
    if isinstance(argv, str):
        raise InputError("a command is a list of words, not a text", hint="write for example ['ls', '-l']")
    place = _place(None if scenario is None else Path(scenario), node, kernel, seed, set)
    session = Session(
        argv=tuple(argv) or _SHELL,
        node=place.node,
        cwd=Path.cwd(),
        environment=dict(environment or {}),
        wrapper=place.wrapper,
        out=_writable(None if out is None else Path(out)),
        exposed=tuple(Path(folder) for folder in expose),
        timeout_ns=_duration(timeout, "--timeout"),
        stall_seconds=_duration(stall, "--stall") / 1e9,
    )
    return LabCommand(session, place.plan, find_kernel(place.version), place.seed, not argv)


@dataclass(frozen=True)
class _Place:
    """Where to run a program: the plan of the network, a node of it, the kernel, and the seed.

    ``wrapper`` has words before the command by which it takes time of the node's CPU.
    """

    plan: Plan
    node: str | None
    version: str | None
    seed: int
    wrapper: tuple[str, ...] = ()


def _place(scenario: Path | None, node: str | None, version: str | None, seed: int | None, changes: Changes) -> _Place:
    """Return where to run.

    :raises InputError: if the scenario has no such node, or the kernel cannot do what it needs.
    """
    if scenario is None:
        if node is not None or changes:
            raise InputError("without a scenario there are no nodes and no keys", hint="add --scenario FILE")
        return _Place(BARE, None, version, 1 if seed is None else seed)
    # Only now: a bare lab needs neither, and both take longer to load than it takes to boot.
    from mptcplab.api.sources import override_texts, resolve_example
    from mptcplab.kernel.data import CPU, has_part, with_part
    from mptcplab.node.cpu import CHARGED
    from mptcplab.plan.compile import compile_plan
    from mptcplab.scenario.load import load

    experiment = load(resolve_example(scenario), overrides=override_texts(changes), seed=seed)
    resolved = experiment.points[0].scenario
    plan = compile_plan(resolved, seed=experiment.seed)
    if node is not None and node not in plan.nodes:
        raise InputError(f"{scenario} has no node '{node}'", hint=f"its nodes are {', '.join(plan.nodes)}")
    node, version = node or plan.nodes[0], version or resolved.kernel
    cpus = [name for name, settings in resolved.nodes.items() if settings.cpu is not None]
    if cpus and not has_part(version, CPU):
        message = f"the kernel {version} cannot give '{cpus[0]}' a CPU"
        raise InputError(message, hint=f"use --kernel {with_part(version, CPU)}")
    return _Place(plan, node, version, experiment.seed, CHARGED if node in cpus else ())


def _duration(text: str, option: str) -> int:
    """Return the duration in nanoseconds. :raises InputError: naming ``option``."""
    try:
        return int(Duration.parse(text))
    except UnitError as error:
        raise InputError(f"{option}: {error}", hint=error.hint) from error


def _writable(out: Path | None) -> Path | None:
    if out is not None:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{out}: {reason(error)}", hint="name another folder") from error
    return out


@contextmanager
def _lab() -> Iterator[tuple[int, int]]:
    """Yield the CPU for a lab, and a descriptor that stops it and becomes readable on signals.

    The CPU is the last available one, since interrupts mostly go to the first.
    :raises LabError: if an output cannot be written. :raises KeyboardInterrupt: if a signal has stopped the lab.
    """
    with interruptible() as stop:
        try:
            yield max(os.sched_getaffinity(0)), stop.descriptor
        except BrokenPipeError:
            raise
        except OSError as error:
            file = error.filename or "standard output"
            hint = "see `df` and `ls -ld`, also for the cache folder, where labs keep their files"
            raise LabError(f"{file} cannot be written: {reason(error)}", hint=hint) from error
