# SPDX-License-Identifier: MIT
"""Runs a user's program in a separate lab: starts it, connects its streams, watches it and stops the lab."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mptcplab.cache import cache_root, make_work_folder
from mptcplab.engine.defaults import DEFAULT_STALL_SECONDS
from mptcplab.engine.memory import with_limits
from mptcplab.engine.process import StreamPump, Watchdog, watch
from mptcplab.engine.report import PLAN_HINT, hidden_folders, package_folder, read_report
from mptcplab.engine.tools import find_program
from mptcplab.engine.virtual.machine import LabBoot, LabMachine, check_folder, find_lab_programs
from mptcplab.engine.virtual.streams import Input, Output, Streams, TerminalRelay, raw_mode, window_size
from mptcplab.errors import InputError
from mptcplab.guest.nodes import ENVIRONMENT
from mptcplab.kernel import KernelBuild
from mptcplab.plan.model import Plan, dispensable_programs, used_by
from mptcplab.steps import Command

HOUR_NS = 3600 * 10**9
#: Interval at which files of output are polled. Virtual time does not depend on it.
_POLL_SECONDS = 0.01
#: A lab without nodes: only the loopback interface, as on any machine.
BARE = Plan((), (Command(None, ("ip", "link", "set", "dev", "lo", "up")),), (), (), (), 10**9)


@dataclass(frozen=True)
class Session:
    """A program to run, and its environment.

    Without a ``node`` it runs outside all nodes. ``cwd`` is a folder of this machine. ``environment`` adds to the lab's
    own variables, and ``wrapper`` has words before the command line. ``out`` is a folder that the program can write as
    /run/out. ``exposed`` are folders below /tmp and /run that it can read. ``timeout_ns`` is virtual time.
    """

    argv: tuple[str, ...]
    node: str | None = None
    cwd: Path = Path("/")
    environment: Mapping[str, str] = field(default_factory=dict)
    wrapper: tuple[str, ...] = ()
    out: Path | None = None
    exposed: tuple[Path, ...] = ()
    timeout_ns: int = HOUR_NS
    stall_seconds: float = DEFAULT_STALL_SECONDS


@dataclass(frozen=True)
class ProgramExit:
    """The exit of a program: its status, or 128 + n for signal n, and its duration in virtual time."""

    status: int
    virtual_ns: int


class Pipes:
    """Carries the streams of a program whose standard streams are pipes."""

    def __init__(self, streams: Streams, folder: Path) -> None:
        self._input = Input(streams.stdin, folder)
        self._outputs = [Output("out", folder, streams.stdout)]
        if not streams.merged:
            self._outputs.append(Output("err", folder, streams.stderr))

    @property
    def watched_descriptors(self) -> list[int]:
        """Standard input, while there is space for more of it."""
        return self._input.watched_descriptors

    def step(self) -> bool:
        """Carry input and output; return True if the lab must wait."""
        self._input.step()
        for output in self._outputs:
            output.step()
        return self._input.starved or any(output.behind for output in self._outputs)

    def finish(self) -> None:
        """Pass on the remaining output, and wait for its readers."""
        for output in self._outputs:
            while not output.step():
                pass
            output.close()


def run_session(
    kernel: KernelBuild, plan: Plan, session: Session, streams: Streams, *, seed: int, cpu: int, stop: int | None = None
) -> ProgramExit:
    """Run ``session`` in the network of ``plan``, without starting its workloads.

    :raises InputError: if the program does not exist. :raises LabError: if it does not end, or the lab fails.
    :raises RunInterruptedError: if ``stop`` becomes readable.
    """
    with _folder() as folder:
        _write_work(folder, plan, session, terminal=None, stdin=streams.stdin is not None, merged=streams.merged)
        pump = Pipes(streams, folder / "streams")
        return _run_lab(
            _boot(kernel, session, folder, memory=plan.memory_bytes, seed=seed, cpu=cpu),
            pump,
            session,
            stop,
            limited=True,
        )


def run_terminal(
    kernel: KernelBuild, plan: Plan, session: Session, *, prompt: bool, seed: int, cpu: int, stop: int | None = None
) -> ProgramExit:
    """Run ``session`` like `run_session`, but on a terminal that is connected to this process's terminal.

    With ``prompt`` it is a shell, and virtual time stops while it waits for a command. There is no timeout.
    """
    ours, guests = socket.socketpair()
    with ours, guests, _folder() as folder, raw_mode(0):
        _write_work(folder, plan, session, terminal=window_size(0), prompt=prompt)
        pump = TerminalRelay(ours, folder / "streams", keyboard=0, screen=1)
        boot = _boot(kernel, session, folder, memory=plan.memory_bytes, seed=seed, cpu=cpu, terminal=guests.fileno())
        return _run_lab(boot, pump, session, stop, limited=False)


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    with make_work_folder("exec", cache_root()) as work:
        folder = work / "lab"
        (folder / "streams").mkdir(parents=True)
        yield folder


def _run_lab(boot: LabBoot, pump: StreamPump, session: Session, stop: int | None, *, limited: bool) -> ProgramExit:
    with LabMachine(boot) as machine:
        watchdog = Watchdog(session.timeout_ns, session.stall_seconds) if limited else None
        verdict = watch(machine, watchdog, _POLL_SECONDS, stop, pump)
    pump.finish()
    report = read_report(boot.folder, machine, verdict, hint=PLAN_HINT if session.node else None)
    return ProgramExit(report["status"], report["virtual_ns"] - report["zero_ns"])


def _boot(
    kernel: KernelBuild,
    session: Session,
    folder: Path,
    *,
    memory: int,
    seed: int,
    cpu: int,
    terminal: int | None = None,
) -> LabBoot:
    return LabBoot(
        kernel=kernel,
        seed=seed,
        cpu=cpu,
        folder=folder,
        source=package_folder(),
        exposed=_hidden_folders(session),
        terminal=terminal,
        memory=memory,
    )


def _hidden_folders(session: Session) -> tuple[Path, ...]:
    """Return the folders of the session, including the program's, that the guest's /tmp and /run would hide."""
    return hidden_folders([session.cwd, *session.exposed, Path(find(session)).parent])


def _write_work(folder: Path, plan: Plan, session: Session, **more: Any) -> None:
    for place in (folder, *([session.out] if session.out else []), *_hidden_folders(session)):
        check_folder(place)
    program, argv = find(session), session.argv
    if session.wrapper:
        argv = (*session.wrapper, program, *argv[1:])
        program = str(find_program(argv[0]))
    parameters = {
        "node": session.node,
        "argv": argv,
        "program": program,
        "cwd": str(session.cwd),
        "environment": dict(session.environment),
        "out": str(session.out.resolve()) if session.out else None,
        "timeout_ns": session.timeout_ns,
    }
    plan = with_limits(plan)
    lab_programs = find_lab_programs(used_by(plan.setup), {}, dispensable=dispensable_programs(plan.setup))
    programs = {name: str(path) for name, path in lab_programs.items()}
    work = {"plan": plan.to_dict(), "programs": programs, "session": parameters | more}
    (folder / "plan.json").write_text(json.dumps(work, sort_keys=True))


def find(session: Session) -> str:
    """Return the path of the program, searched as in the lab.

    :raises InputError: if there is none, or this user may not execute it.
    """
    name = session.argv[0]
    search = {**ENVIRONMENT, **session.environment}["PATH"]
    path = shutil.which(str(session.cwd / name) if "/" in name else name, path=search)
    if path is None:
        if "/" in name and (session.cwd / name).is_file() and not name.endswith(".toml"):
            hint = f"chmod +x {name}; or name its interpreter, such as: sh {name}"
            raise InputError(f"the file '{name}' is not executable", hint=hint)
        hint = f"the search path is {search}; programs in /tmp and /run need --expose"
        if name.endswith(".toml"):
            hint = f"for a command on a node of a scenario: --scenario {name} --on NODE -- COMMAND"
        raise InputError(f"there is no program '{name}'", hint=hint)
    return path
