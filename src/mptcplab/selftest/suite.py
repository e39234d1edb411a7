# SPDX-License-Identifier: MIT
"""The selftests, their division into labs, and the execution of one."""

from __future__ import annotations

import os
import queue
import re
import shlex
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mptcplab.engine.protocol import RunInterruptedError
from mptcplab.engine.virtual.session import BARE, Session, run_session
from mptcplab.engine.virtual.streams import Streams
from mptcplab.errors import InputError, LabError
from mptcplab.kernel import KernelBuild
from mptcplab.selftest import DEFAULT_SCRIPTS
from mptcplab.selftest.prepare import SelftestTree
from mptcplab.selftest.tap import Result, Verdict, kernel_result, results, skip_reason, watch_log

_SKIPPED = 4
_TIMEOUT_NS = 4 * 3600 * 10**9
#: Settings that new network namespaces inherit from the first one, and that the lab can set.
_SETTINGS = {"congestion control": "net/ipv4/tcp_congestion_control", "scheduler": "net/mptcp/scheduler"}
_REFUSED = 97
#: An entry such as "f@subflows_tests" of mptcp_join.sh: an option, and the group of tests that it selects.
_GROUP = re.compile(r"^\t(\w)@(\w+)$", re.MULTILINE)


@dataclass(frozen=True)
class SuitePart:
    """The tests of one lab: a script, or one group of its tests."""

    script: str
    group: str = ""
    option: str = ""

    @property
    def name(self) -> str:
        """The name of the part and of its log, such as ``mptcp_join/add_tests``."""
        return f"{self.script}/{self.group}" if self.group else self.script


@dataclass(frozen=True)
class SocketDefaults:
    """The settings of sockets for which a script chooses none; empty ones are the kernel's defaults."""

    congestion_control: str = ""
    scheduler: str = ""

    def commands(self) -> list[str]:
        """Return shell commands that set them before a script starts. Status 97 means that the kernel rejects one."""
        return [
            f"{{ printf %s {shlex.quote(name)} > /proc/sys/{_SETTINGS[kind]} || exit {_REFUSED}; }}"
            for kind, name in self._named.items()
        ]

    def __str__(self) -> str:
        return " or ".join(f"{kind} '{name}'" for kind, name in self._named.items())

    @property
    def _named(self) -> dict[str, str]:
        names = {"congestion control": self.congestion_control, "scheduler": self.scheduler}
        return {kind: name for kind, name in names.items() if name}


@dataclass(frozen=True)
class PartOutcome:
    """The results of one part. ``error`` is why its lab failed, if it did."""

    part: SuitePart
    results: tuple[Result, ...]
    status: int
    virtual_ns: int
    error: str = ""


def parts(prepared: SelftestTree, names: Sequence[str]) -> list[SuitePart]:
    """Return the parts of the scripts ``names``: one per script, or one per group of a script that has groups.

    :raises InputError: for a name that this source does not have.
    """
    folders = (prepared.scripts, prepared.scripts.parent)
    known = sorted(file.stem for folder in folders for file in folder.glob("*.sh") if prepared.find(file.stem))
    requested = list(names) or [name for name in DEFAULT_SCRIPTS if name in known]
    chosen: list[SuitePart] = []
    for name in requested:
        script, _, group = name.removesuffix(".sh").partition("/")
        if script not in known:
            raise InputError(f"there is no selftest '{script}'", hint=f"there are {', '.join(known)}")
        text = _file(prepared, script).read_text()
        groups = [SuitePart(script, entry, option) for option, entry in _GROUP.findall(text)] or [SuitePart(script)]
        selected = [part for part in groups if not group or part.group == group]
        if not selected:
            group_names = ", ".join(part.group for part in groups if part.group)
            hint = f"its groups are {group_names}" if group_names else "it has no groups: leave the group out"
            raise InputError(f"'{script}' has no group '{group}'", hint=hint)
        chosen += [part for part in selected if part not in chosen]
    return chosen


def run_parts(
    kernel: KernelBuild,
    prepared: SelftestTree,
    chosen: Sequence[SuitePart],
    *,
    defaults: SocketDefaults,
    seed: int,
    logs: Path,
    cpus: Sequence[int],
    stop: int | None,
    finished: Callable[[PartOutcome], None],
) -> list[PartOutcome]:
    """Run all of ``chosen``, one lab on each of ``cpus`` at a time, the longest first.

    ``finished`` receives the outcomes in the order of ``chosen``. The output of every part goes to ``logs``.
    :raises RunInterruptedError: if ``stop`` becomes readable.
    """
    free: queue.SimpleQueue[int] = queue.SimpleQueue()
    for cpu in cpus:
        free.put(cpu)

    def run(part: SuitePart) -> PartOutcome:
        cpu = free.get()
        line = " && ".join([*defaults.commands(), _line(prepared, part)])
        log = logs / f"{part.name.replace('/', '.')}.log"
        try:
            return _run(kernel, prepared, part, line, seed=seed, log=log, cpu=cpu, stop=stop)
        finally:
            free.put(cpu)

    with ThreadPoolExecutor(max_workers=len(cpus)) as pool:
        futures = {part: pool.submit(run, part) for part in sorted(chosen, key=_cost, reverse=True)}
        outcomes = []
        for part in chosen:
            outcomes.append(futures[part].result())
            finished(outcomes[-1])
    return outcomes


#: Rough relative durations of parts; all others are short.
_COSTS = {"mptcp_connect": 30, "simult_flows": 15, "diag": 12, "userspace_pm": 8, "pm_netlink": 5}
_COSTLY_GROUPS = {"remove_tests": 20, "link_failure_tests": 20, "endpoint_tests": 15}


def _cost(part: SuitePart) -> int:
    return _COSTLY_GROUPS.get(part.group, _COSTS.get(part.script, 6))


def check_defaults(kernel: KernelBuild, defaults: SocketDefaults, *, cpu: int) -> None:
    """Check that the kernel has the requested defaults. :raises InputError: if it does not."""
    commands = defaults.commands()
    if not commands:
        return
    session = Session(argv=("bash", "-c", " && ".join(commands)))
    with open(os.devnull, "wb") as null:
        streams = Streams(stdin=None, stdout=null.fileno(), stderr=null.fileno(), merged=True)
        result = run_session(kernel, BARE, session, streams, seed=1, cpu=cpu, stop=None)
    if result.status == _REFUSED:
        command = "sysctl net.ipv4.tcp_available_congestion_control net.mptcp.available_schedulers"
        raise InputError(f"the lab kernel has no {defaults}", hint=f"list them with `mptcplab exec -- {command}`")


def _run(
    kernel: KernelBuild,
    prepared: SelftestTree,
    part: SuitePart,
    line: str,
    *,
    seed: int,
    log: Path,
    cpu: int,
    stop: int | None,
) -> PartOutcome:
    session = Session(
        argv=("bash", "-c", line),
        exposed=(prepared.folder,),
        timeout_ns=_TIMEOUT_NS,
        stall_seconds=120,
    )
    with log.open("wb") as file:
        streams = Streams(stdin=None, stdout=file.fileno(), stderr=file.fileno(), merged=True)
        try:
            result = run_session(kernel, BARE, session, streams, seed=seed, cpu=cpu, stop=stop)
        except RunInterruptedError:
            raise
        except LabError as error:
            return PartOutcome(part, (), 1, 0, error.message)
    printed = log.read_text(errors="replace")
    items = results(printed)
    if not items or (result.status not in (0, _SKIPPED) and all(item.verdict != "not ok" for item in items)):
        verdict: Verdict = "skip" if result.status == _SKIPPED else "ok" if result.status == 0 else "not ok"
        reason = skip_reason(printed) if verdict == "skip" else ""
        items.append(Result("exit status", verdict, reason or f"status {result.status}"))
    if complaint := kernel_result(printed):
        items.append(complaint)
    return PartOutcome(part, tuple(items), result.status, result.virtual_ns)


def _file(prepared: SelftestTree, script: str) -> Path:
    file = prepared.find(script)
    assert file is not None, f"parts() found {script}"
    return file


def _line(prepared: SelftestTree, part: SuitePart) -> str:
    """Return the lab's shell command: the test in a writable folder with the layout of a kernel's tree."""
    source = shlex.quote(str(prepared.folder / "net"))
    folder = _file(prepared, part.script).parent.relative_to(prepared.folder)
    steps = [f"cp -r {source} /tmp/", f"cd /tmp/{folder}", *_global_symbols(prepared, part)]
    script = f"./{part.script}.sh" + (f" -{part.option}" if part.option else "")
    return " && ".join([*steps, f"{{ {watch_log(script)}; }}"])


def _global_symbols(prepared: SelftestTree, part: SuitePart) -> list[str]:
    """Return commands that show symbols as global where the script expects that: User-Mode Linux makes all local."""
    text = _file(prepared, part.script).read_text()
    names = sorted(set(re.findall(r'kallsyms_has "T (\w+)\$"', text)))
    if not names:
        return []
    expression = f"s/ t ({'|'.join(names)})$/ T \\1/"
    return [
        f"sed -E {shlex.quote(expression)} /proc/kallsyms > /tmp/kallsyms",
        "mount --bind /tmp/kallsyms /proc/kallsyms",
    ]
