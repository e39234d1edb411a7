# SPDX-License-Identifier: MIT
"""One program of anybody's in a lab of its own: started, supplied with its streams, watched, ended."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mptcplab.cache import cache_root, work_dir
from mptcplab.engine.protocol import DEFAULT_STALL_SECONDS
from mptcplab.engine.tools import find_programs
from mptcplab.engine.virtual.engine import PLAN_HINT, exposed_folders, package_folder, read_report
from mptcplab.engine.virtual.machine import Boot, Machine, check_folder
from mptcplab.engine.virtual.streams import Input, Output, Streams
from mptcplab.engine.virtual.terminal import Terminal, raw_mode, window_size
from mptcplab.engine.virtual.watchdog import StreamPump, Watchdog, watch
from mptcplab.errors import InputError
from mptcplab.guest.nodes import ENVIRONMENT
from mptcplab.kernel import KernelBuild
from mptcplab.plan.model import Plan, used_by
from mptcplab.steps import Command

HOUR_NS = 3600 * 10**9
#: How often files of output are looked at. Virtual time does not depend on it.
_LOOK_SECONDS = 0.01
#: A lab without nodes: only the loopback interface, as on any machine.
BARE = Plan((), (Command(None, ("ip", "link", "set", "dev", "lo", "up")),), (), (), (), 10**9)


@dataclass(frozen=True)
class Session:
    """What to run, and where.

    ``node`` None is outside of all nodes; ``cwd`` is a folder of this machine; ``environment`` comes on top of the
    lab's own; ``out`` is a folder that the program may write, as /run/out; ``exposed`` are folders below /tmp and /run
    that it shall see; ``timeout_ns`` is of virtual time.
    """

    argv: tuple[str, ...]
    node: str | None = None
    cwd: Path = Path("/")
    environment: Mapping[str, str] = field(default_factory=dict)
    out: Path | None = None
    exposed: tuple[Path, ...] = ()
    timeout_ns: int = HOUR_NS
    stall_seconds: float = DEFAULT_STALL_SECONDS


@dataclass(frozen=True)
class ProgramExit:
    """How a program ended: its exit status, or 128 + n for signal n, and how long it took in virtual time."""

    status: int
    virtual_ns: int


class Pipes:
    """The attendant of a program between pipes."""

    def __init__(self, streams: Streams, folder: Path) -> None:
        self._input = Input(streams.stdin, folder)
        self._outputs = [Output("out", folder, streams.stdout)]
        if not streams.merged:
            self._outputs.append(Output("err", folder, streams.stderr))

    @property
    def watched(self) -> list[int]:
        """Standard input, as long as there is room for more of it."""
        return self._input.watched

    def step(self) -> bool:
        """Both ways."""
        self._input.step()
        for output in self._outputs:
            output.step()
        return self._input.starved or any(output.behind for output in self._outputs)

    def finish(self) -> None:
        """Wait for the readers."""
        for output in self._outputs:
            while not output.step():
                pass
            output.close()


def run_session(
    kernel: KernelBuild, plan: Plan, session: Session, streams: Streams, *, seed: int, cpu: int, stop: int | None = None
) -> ProgramExit:
    """Run ``session`` in the network of ``plan``, whose workloads are not started.

    :raises InputError: when there is no such program. :raises LabError: when it did not end, or the lab failed.
    :raises RunInterruptedError: when ``stop`` became readable.
    """
    with _folder() as folder:
        _write_work(folder, plan, session, terminal=None, stdin=streams.stdin is not None, merged=streams.merged)
        attendant = Pipes(streams, folder / "streams")
        return _attended(_boot(kernel, session, folder, seed=seed, cpu=cpu), attendant, session, stop, limited=True)


def run_terminal(
    kernel: KernelBuild, plan: Plan, session: Session, *, prompt: bool, seed: int, cpu: int, stop: int | None = None
) -> ProgramExit:
    """Run ``session`` like `run_session`, but on a terminal, for the person at this process's standard input.

    With ``prompt`` it is a shell, and time stands still while it waits for a command. There is no limit of time.
    """
    ours, guests = socket.socketpair()
    with ours, guests, _folder() as folder, raw_mode(0):
        _write_work(folder, plan, session, terminal=window_size(0), prompt=prompt)
        attendant = Terminal(ours, folder / "streams", keyboard=0, screen=1)
        boot = _boot(kernel, session, folder, seed=seed, cpu=cpu, terminal=guests.fileno())
        return _attended(boot, attendant, session, stop, limited=False)


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    with work_dir("exec", cache_root()) as work:
        folder = work / "lab"
        (folder / "streams").mkdir(parents=True)
        yield folder


def _attended(boot: Boot, attendant: StreamPump, session: Session, stop: int | None, *, limited: bool) -> ProgramExit:
    with Machine(boot) as machine:
        watchdog = Watchdog(session.timeout_ns, session.stall_seconds) if limited else None
        verdict = watch(machine, watchdog, _LOOK_SECONDS, stop, attendant)
    attendant.finish()
    report = read_report(boot.folder, machine, verdict, hint=PLAN_HINT if session.node else None)
    return ProgramExit(report["status"], report["virtual_ns"] - report["zero_ns"])


def _boot(
    kernel: KernelBuild, session: Session, folder: Path, *, seed: int, cpu: int, terminal: int | None = None
) -> Boot:
    return Boot(
        kernel=kernel,
        seed=seed,
        cpu=cpu,
        folder=folder,
        source=package_folder(),
        exposed=_exposed(session),
        terminal=terminal,
    )


def _exposed(session: Session) -> tuple[Path, ...]:
    """The folders that the guest's private /tmp and /run would hide from the program, and its own."""
    return exposed_folders([session.cwd, *session.exposed, Path(find(session)).parent])


def _write_work(folder: Path, plan: Plan, session: Session, **more: Any) -> None:
    for place in (folder, *([session.out] if session.out else []), *_exposed(session)):
        check_folder(place)
    described = {
        "node": session.node,
        "argv": session.argv,
        "program": find(session),
        "cwd": str(session.cwd),
        "environment": dict(session.environment),
        "out": str(session.out.resolve()) if session.out else None,
        "timeout_ns": session.timeout_ns,
    }
    programs = {name: str(path) for name, path in find_programs(used_by(plan.setup), {}).items()}
    work = {"plan": asdict(plan), "programs": programs, "session": described | more}
    (folder / "plan.json").write_text(json.dumps(work, sort_keys=True))


def find(session: Session) -> str:
    """Where the program is, found as the lab would. :raises InputError: when it is nowhere."""
    name = session.argv[0]
    search = {**ENVIRONMENT, **session.environment}["PATH"]
    found = shutil.which(session.cwd / name if "/" in name else name, path=search)
    if found is None:
        hint = f"programs are looked for in {search}; those in /tmp and /run need --expose"
        raise InputError(f"there is no program '{name}'", hint=hint)
    return found
