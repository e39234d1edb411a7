# SPDX-License-Identifier: MIT
"""``mptcplab exec``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import click

from mptcplab.engine.protocol import RunInterruptedError
from mptcplab.engine.stop import Stop
from mptcplab.engine.virtual.session import BARE, Session, run_session, run_terminal
from mptcplab.engine.virtual.streams import Streams
from mptcplab.errors import InputError, LabError, reason
from mptcplab.kernel import KernelBuild, find_kernel
from mptcplab.plan.model import Plan
from mptcplab.units import Duration, UnitError


def exec(
    scenario: Path | None,
    node: str | None,
    version: str | None,
    seed: int | None,
    overrides: tuple[str, ...],
    timeout: str,
    stall: str,
    variables: tuple[str, ...],
    out: Path | None,
    expose: tuple[Path, ...],
    no_stdin: bool,
    shell: bool,
    command: tuple[str, ...],
) -> int:
    """Run ``command`` in a lab and return the exit status."""
    _open_all_streams()
    if not command and not shell:
        raise click.UsageError("give a command to run, or --shell")
    place = _place(scenario, node, version, seed, overrides)
    session = Session(
        argv=command or ("bash", "--norc", "-i"),
        node=place.node,
        cwd=Path.cwd(),
        environment=({"PS1": f"{place.node or 'lab'}:\\w# ", "TERM": os.environ.get("TERM", "dumb")} if shell else {})
        | _variables(variables),
        wrapper=place.wrapper,
        out=_writable(out),
        exposed=expose,
        timeout_ns=_duration(timeout, "--timeout"),
        stall_seconds=_duration(stall, "--stall") / 1e9,
    )
    streams = None if shell else _streams(no_stdin)
    return _status(find_kernel(place.version), place.plan, session, streams, seed=place.seed, prompt=not command)


@dataclass(frozen=True)
class _Place:
    """Where to run the command: the plan of the network, a node of it, the kernel, and the seed.

    ``wrapper`` has words before the command by which it takes time of the node's CPU.
    """

    plan: Plan
    node: str | None
    version: str | None
    seed: int
    wrapper: tuple[str, ...] = ()


def _status(
    kernel: KernelBuild, plan: Plan, session: Session, streams: Streams | None, *, seed: int, prompt: bool
) -> int:
    """Run the session and return its exit status.

    Without ``streams``, the command runs on a terminal. ``prompt`` is true for a shell.
    :raises KeyboardInterrupt: if a signal interrupts it. :raises LabError: if a file cannot be written.
    """
    cpu = max(os.sched_getaffinity(0))
    stop = Stop()
    with stop.request_on_signals():
        try:
            if streams is None:
                result = run_terminal(kernel, plan, session, prompt=prompt, seed=seed, cpu=cpu, stop=stop.descriptor)
            else:
                result = run_session(kernel, plan, session, streams, seed=seed, cpu=cpu, stop=stop.descriptor)
        except RunInterruptedError as error:
            raise KeyboardInterrupt from error
        except BrokenPipeError:
            raise
        except OSError as error:
            file = error.filename or "standard output"
            hint = "see `df` and `ls -ld`, also for the cache folder, where labs keep their files"
            raise LabError(f"{file} cannot be written: {reason(error)}", hint=hint) from error
    return result.status


def _place(
    scenario: Path | None, node: str | None, version: str | None, seed: int | None, overrides: tuple[str, ...]
) -> _Place:
    """Return where to run.

    :raises InputError: if the scenario has no such node, or the kernel cannot do what it needs.
    """
    if scenario is None:
        if node is not None or overrides:
            raise InputError("without a scenario there are no nodes and no keys", hint="add --scenario FILE")
        return _Place(BARE, None, version, 1 if seed is None else seed)
    # Only now: a bare lab needs neither, and both take longer to load than it takes to boot.
    from mptcplab.kernel.data import CPU, has_part, with_part
    from mptcplab.node.cpu import CHARGED
    from mptcplab.plan.compile import compile_plan
    from mptcplab.scenario.load import load

    experiment = load(scenario, overrides=overrides, seed=seed)
    described = experiment.points[0].scenario
    plan = compile_plan(described, seed=experiment.seed)
    if node is not None and node not in plan.nodes:
        raise InputError(f"{scenario} has no node '{node}'", hint=f"its nodes are {', '.join(plan.nodes)}")
    node, version = node or plan.nodes[0], version or described.kernel
    cpus = [name for name, node_base in described.nodes.items() if node_base.cpu is not None]
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


def _variables(given: tuple[str, ...]) -> dict[str, str]:
    """Return the variables of ``--env``, with the values of this environment for those without one."""
    pairs = [text.partition("=") for text in given]
    unset = [name for name, equals, _ in pairs if not equals and name not in os.environ]
    if unset:
        raise InputError(f"the variable '{unset[0]}' is not set here", hint=f"write --env {unset[0]}=VALUE")
    return {name: value if equals else os.environ[name] for name, equals, value in pairs}


def _writable(out: Path | None) -> Path | None:
    if out is not None:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{out}: {reason(error)}", hint="name another folder") from error
    return out


def _open_all_streams() -> None:
    """Open standard streams that were closed (``>&-``), before another descriptor gets their number."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _streams(no_stdin: bool) -> Streams:
    """Return this process's streams. Outputs to the same file, such as a terminal, are merged to keep their order."""
    same = os.path.sameopenfile(1, 2)
    return Streams(stdin=None if no_stdin or os.isatty(0) else 0, stdout=1, stderr=2, merged=same)
