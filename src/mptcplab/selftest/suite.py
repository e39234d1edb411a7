# SPDX-License-Identifier: MIT
"""Which selftests there are, how they are divided into labs, and how one is run."""

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
from mptcplab.selftest.kernel_log import kernel_result, watched
from mptcplab.selftest.prepare import SelftestTree
from mptcplab.selftest.tap import Result, Verdict, results

#: Scripts that are run unless others are named, in the order of their results.
USUAL = ("simult_flows", "mptcp_connect", "mptcp_sockopt", "pm_netlink", "diag", "userspace_pm", "mptcp_join")
_SKIPPED = 4
_TIMEOUT_NS = 4 * 3600 * 10**9
#: What new network namespaces take from the first one, which the lab may set.
_SETTINGS = {"congestion control": "net/ipv4/tcp_congestion_control", "scheduler": "net/mptcp/scheduler"}
_REFUSED = 97
#: An entry such as "f@subflows_tests" of mptcp_join.sh: an option, and the group of tests that it selects.
_GROUP = re.compile(r"^\t(\w)@(\w+)$", re.MULTILINE)


@dataclass(frozen=True)
class Part:
    """What runs in one lab: a script, or one group of its tests."""

    script: str
    group: str = ""
    option: str = ""

    @property
    def name(self) -> str:
        """Such as ``mptcp_join/add_tests``; also the name of its log."""
        return f"{self.script}/{self.group}" if self.group else self.script


@dataclass(frozen=True)
class SocketDefaults:
    """What the scripts' sockets have unless they choose for themselves; empty: what the kernel has."""

    congestion_control: str = ""
    scheduler: str = ""

    def commands(self) -> list[str]:
        """Lines of shell that set them before a script starts; status 97 means that the kernel does not know one."""
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
class Outcome:
    """What became of one part. ``error`` is why its lab failed, if it did."""

    part: Part
    results: tuple[Result, ...]
    status: int
    virtual_ns: int
    error: str = ""


def parts(prepared: SelftestTree, names: Sequence[str]) -> list[Part]:
    """The labs for the scripts ``names``: one each, but one per group of a script that has groups.

    :raises InputError: for a name that this source does not have.
    """
    folders = (prepared.scripts, prepared.scripts.parent)
    there = sorted(file.stem for folder in folders for file in folder.glob("*.sh") if prepared.find(file.stem))
    wanted = list(names) or [name for name in USUAL if name in there]
    chosen: list[Part] = []
    for name in wanted:
        script, _, group = name.removesuffix(".sh").partition("/")
        if script not in there:
            raise InputError(f"there is no selftest '{script}'", hint=f"there are {', '.join(there)}")
        text = _file(prepared, script).read_text()
        groups = [Part(script, found, option) for option, found in _GROUP.findall(text)] or [Part(script)]
        picked = [part for part in groups if not group or part.group == group]
        if not picked:
            known = ", ".join(part.group for part in groups if part.group)
            hint = f"its groups are {known}" if known else "it has none: leave the group out"
            raise InputError(f"'{script}' has no group '{group}'", hint=hint)
        chosen += picked
    return chosen


def run_parts(
    kernel: KernelBuild,
    prepared: SelftestTree,
    chosen: Sequence[Part],
    *,
    defaults: SocketDefaults,
    seed: int,
    logs: Path,
    cpus: Sequence[int],
    stop: int | None,
    finished: Callable[[Outcome], None],
) -> list[Outcome]:
    """Run all of ``chosen``, one lab on each of ``cpus`` at a time, the longest first.

    ``finished`` is told in the order of ``chosen``. Everything that a part prints goes to ``logs``.
    :raises RunInterruptedError: when ``stop`` became readable.
    """
    free: queue.SimpleQueue[int] = queue.SimpleQueue()
    for cpu in cpus:
        free.put(cpu)

    def run(part: Part) -> Outcome:
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


#: Roughly how long parts take, relative to each other; all others are short.
_COSTS = {"mptcp_connect": 30, "simult_flows": 15, "diag": 12, "userspace_pm": 8, "pm_netlink": 5}
_COSTLY_GROUPS = {"remove_tests": 20, "link_failure_tests": 20, "endpoint_tests": 15}


def _cost(part: Part) -> int:
    return _COSTLY_GROUPS.get(part.group, _COSTS.get(part.script, 6))


def check_defaults(kernel: KernelBuild, defaults: SocketDefaults, *, cpu: int) -> None:
    """Whether the kernel knows them. :raises InputError: when it does not."""
    commands = defaults.commands()
    if not commands:
        return
    session = Session(argv=("bash", "-c", " && ".join(commands)))
    with open(os.devnull, "wb") as null:
        streams = Streams(stdin=None, stdout=null.fileno(), stderr=null.fileno(), merged=True)
        ended = run_session(kernel, BARE, session, streams, seed=1, cpu=cpu, stop=None)
    if ended.status == _REFUSED:
        known = "sysctl net.ipv4.tcp_available_congestion_control net.mptcp.available_schedulers"
        raise InputError(f"the lab kernel has no {defaults}", hint=f"what it has: `mptcplab exec -- {known}`")


def _run(
    kernel: KernelBuild,
    prepared: SelftestTree,
    part: Part,
    line: str,
    *,
    seed: int,
    log: Path,
    cpu: int,
    stop: int | None,
) -> Outcome:
    session = Session(
        argv=("bash", "-c", line),
        exposed=(prepared.folder,),
        timeout_ns=_TIMEOUT_NS,
        stall_seconds=120,
    )
    with log.open("wb") as file:
        streams = Streams(stdin=None, stdout=file.fileno(), stderr=file.fileno(), merged=True)
        try:
            ended = run_session(kernel, BARE, session, streams, seed=seed, cpu=cpu, stop=stop)
        except RunInterruptedError:
            raise
        except LabError as error:
            return Outcome(part, (), 1, 0, error.message)
    printed = log.read_text(errors="replace")
    found = results(printed)
    if not found or (ended.status not in (0, _SKIPPED) and all(one.verdict != "not ok" for one in found)):
        verdict: Verdict = "skip" if ended.status == _SKIPPED else "ok" if ended.status == 0 else "not ok"
        found.append(Result("exit status", verdict, f"status {ended.status}"))
    if complaint := kernel_result(printed):
        found.append(complaint)
    return Outcome(part, tuple(found), ended.status, ended.virtual_ns)


def _file(prepared: SelftestTree, script: str) -> Path:
    file = prepared.find(script)
    assert file is not None, f"parts() found {script}"
    return file


def _line(prepared: SelftestTree, part: Part) -> str:
    """What the lab runs: the test in a folder that it may write, as it would be below a kernel's tree."""
    source = shlex.quote(str(prepared.folder / "net"))
    folder = _file(prepared, part.script).parent.relative_to(prepared.folder)
    steps = [f"cp -r {source} /tmp/", f"cd /tmp/{folder}", *_global_symbols(prepared, part)]
    script = f"./{part.script}.sh" + (f" -{part.option}" if part.option else "")
    return " && ".join([*steps, f"{{ {watched(script)}; }}"])


def _global_symbols(prepared: SelftestTree, part: Part) -> list[str]:
    """Show symbols as global that the script looks for as such: linking User-Mode Linux makes all of them local."""
    text = _file(prepared, part.script).read_text()
    names = sorted(set(re.findall(r'kallsyms_has "T (\w+)\$"', text)))
    if not names:
        return []
    expression = f"s/ t ({'|'.join(names)})$/ T \\1/"
    return [
        f"sed -E {shlex.quote(expression)} /proc/kallsyms > /tmp/kallsyms",
        "mount --bind /tmp/kallsyms /proc/kallsyms",
    ]
