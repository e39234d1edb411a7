# SPDX-License-Identifier: MIT
"""``mptcplab exec``."""

from __future__ import annotations

import os
from pathlib import Path

import click

from mptcplab.cli import complete
from mptcplab.cli.options import set_option
from mptcplab.engine.protocol import DEFAULT_STALL_SECONDS, RunInterruptedError
from mptcplab.engine.stop import Stop
from mptcplab.engine.virtual.session import BARE, Session, run_session, run_terminal
from mptcplab.engine.virtual.streams import Streams
from mptcplab.errors import InputError, LabError, reason
from mptcplab.kernel import KernelBuild, find_kernel
from mptcplab.plan.model import Plan
from mptcplab.units import Duration, UnitError

_EPILOG = """\b
Inside:
  time       stands still while anything can run, and jumps to the next timer when everything sleeps: a `sleep 1h`
             takes no time. It also stands still while the lab waits for its standard input or for the reader of
             its output, so that the same command, seed and kernel print the same bytes.
  files      those of this machine, read-only, and the working directory is the one here. /tmp and /run are private
             and vanish; folders below them are seen with --expose. With --out DIR, /run/out is DIR and writable.
  variables  only PATH, HOME, TMPDIR, LC_ALL, TERM, with fixed values, and those of --env.
  nodes      are network namespaces: `ip netns exec server COMMAND` runs something on another one.

\b
Exit status:
  that of COMMAND, or 128 + n when signal n ended it. When the lab itself fails, a line on standard error begins
  with "mptcplab:" and the status is 1, 2 or 3 as with all commands.

\b
Examples:
  mptcplab exec -- sleep 3600
  mptcplab exec --scenario two.toml --on client -- ping -c 3 10.0.2.2
  mptcplab exec --scenario two.toml --shell
  tar c data | mptcplab exec -- sh -c 'cd /tmp && tar x && ls data' > list
"""


@click.command(epilog=_EPILOG, context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@click.option(
    "--scenario",
    type=click.Path(path_type=Path),
    shell_complete=complete.scenario_files,
    help="Set up the network of this file (first point).",
)
@click.option(
    "--on",
    "node",
    metavar="NODE",
    shell_complete=complete.nodes,
    help="Run on this node. Default: the scenario's first host.",
)
@click.option(
    "--kernel",
    "version",
    metavar="VERSION",
    shell_complete=complete.kernels,
    help="Lab kernel. Default: the scenario's, else 7.2.",
)
@click.option("--seed", type=click.IntRange(0, 10**18), help="Of all random numbers. Default: the scenario's, else 1.")
@set_option()
@click.option("--timeout", default="1 h", show_default=True, help="Virtual time after which COMMAND is ended.")
@click.option(
    "--stall",
    default=f"{DEFAULT_STALL_SECONDS:g} s",
    show_default=True,
    help="Real time without progress of virtual time after which it is ended.",
)
@click.option("--env", "variables", multiple=True, metavar="NAME[=VALUE]", help="Give it this variable.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder that it may write, as /run/out; made if missing.")
@click.option(
    "--expose",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder below /tmp or /run that it shall see, read-only.",
)
@click.option("--no-stdin", is_flag=True, help="Give it no standard input; a terminal is never given.")
@click.option("--shell", is_flag=True, help="An interactive shell; COMMAND, if there is one, on a terminal.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
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
    """Run COMMAND in virtual time: on a machine without any network, or on a node of a scenario.

    Its standard streams are pipes to those of this command. A scenario's network is set up; its workloads are not
    started.
    """
    _open_all_streams()
    if not command and not shell:
        raise click.UsageError("say what to run, or --shell")
    plan, node, version, seed = _place(scenario, node, version, seed, overrides)
    session = Session(
        argv=command or ("bash", "--norc", "-i"),
        node=node,
        cwd=Path.cwd(),
        environment=({"PS1": f"{node or 'lab'}:\\w# ", "TERM": os.environ.get("TERM", "dumb")} if shell else {})
        | _variables(variables),
        out=_writable(out),
        exposed=expose,
        timeout_ns=_duration(timeout, "--timeout"),
        stall_seconds=_duration(stall, "--stall") / 1e9,
    )
    streams = None if shell else _streams(no_stdin)
    return _status(find_kernel(version), plan, session, streams, seed=seed, prompt=not command)


def _status(
    kernel: KernelBuild, plan: Plan, session: Session, streams: Streams | None, *, seed: int, prompt: bool
) -> int:
    """How the command ended; it is on a terminal if there are no ``streams``. ``prompt``: it is a shell.

    :raises KeyboardInterrupt: when the end was asked for. :raises LabError: when something cannot be written.
    """
    cpu = max(os.sched_getaffinity(0))
    stop = Stop()
    with stop.on_signals():
        try:
            if streams is None:
                ended = run_terminal(kernel, plan, session, prompt=prompt, seed=seed, cpu=cpu, stop=stop.descriptor)
            else:
                ended = run_session(kernel, plan, session, streams, seed=seed, cpu=cpu, stop=stop.descriptor)
        except RunInterruptedError as error:
            raise KeyboardInterrupt from error
        except BrokenPipeError:
            raise
        except OSError as error:
            file = error.filename or "standard output"
            hint = "see `df` and `ls -ld`, also for the cache folder, in which labs work"
            raise LabError(f"{file} cannot be written: {reason(error)}", hint=hint) from error
    return ended.status


def _place(
    scenario: Path | None, node: str | None, version: str | None, seed: int | None, overrides: tuple[str, ...]
) -> tuple[Plan, str | None, str | None, int]:
    """The network, and the node, kernel and seed in it."""
    if scenario is None:
        if node is not None or overrides:
            raise InputError("without a scenario there are no nodes and no keys", hint="add --scenario FILE")
        return BARE, None, version, 1 if seed is None else seed
    # Only now: a bare lab needs neither, and both take longer to load than it takes to boot.
    from mptcplab.plan.compile import compile_plan
    from mptcplab.scenario.load import load

    experiment = load(scenario, overrides=overrides, seed=seed)
    described = experiment.points[0].scenario
    plan = compile_plan(described, seed=experiment.seed)
    if node is not None and node not in plan.nodes:
        raise InputError(f"{scenario} has no node '{node}'", hint=f"its nodes are {', '.join(plan.nodes)}")
    return plan, node or plan.nodes[0], version or described.kernel, experiment.seed


def _duration(text: str, option: str) -> int:
    """In nanoseconds."""
    try:
        return int(Duration.parse(text))
    except UnitError as error:
        raise InputError(f"{option}: {error}", hint=error.hint) from error


def _variables(given: tuple[str, ...]) -> dict[str, str]:
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
    """Those that were closed (``>&-``), before another descriptor gets their number."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _streams(no_stdin: bool) -> Streams:
    """Ours. Outputs that go to one place, such as a terminal, keep their order by being one."""
    same = os.path.sameopenfile(1, 2)
    return Streams(stdin=None if no_stdin or os.isatty(0) else 0, stdout=1, stderr=2, merged=same)
