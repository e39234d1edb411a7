# SPDX-License-Identifier: MIT
"""The algorithms of a plan on a stock kernel: the kernel's own, and eBPF programs that are loaded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from mptcplab.ebpf.bpftool import reason_of, verifier_lines
from mptcplab.ebpf.controls import FIRST_VERSION, version_of
from mptcplab.ebpf.objects import CONTROLS, find_tool, object_file
from mptcplab.ebpf.own import CONTROL, SCHEDULER, compile_user_programs, names_of
from mptcplab.engine.needs import general_settings
from mptcplab.engine.stock import start
from mptcplab.engine.stock.modules import ModuleTree
from mptcplab.engine.stock.root import contents, program_files
from mptcplab.errors import InputError, LabError
from mptcplab.kernel.stock import StockKernel, numbers
from mptcplab.plan.model import Plan

#: Linux 6.6 has the setting that chooses a scheduler.
_FIRST_SCHEDULERS = [6, 6]
#: The beginnings of the lab kernel's own settings (kernel/net/mptcp). Our eBPF programs have none of them.
SETTINGS_OF_LAB = ("net.mptcp.coupled_", "net.mptcp.scheduler_")
_HINT = "use --engine virtual, whose kernel has it"
_SUFFIX = ".bpf.o"


def check_algorithms(plan: Plan, kernel: StockKernel, tree: ModuleTree) -> None:
    """Check that a stock kernel can have what the plan needs. :raises InputError: naming what it lacks."""
    own_programs = compile_user_programs(plan.bpf, kernel)
    _check_clashes(names_of(own_programs, CONTROL), kernel, tree)
    _check_controls(plan, kernel, tree, names_of(own_programs, CONTROL))
    needs = plan.needs
    has_schedulers = numbers(kernel.release)[:2] >= _FIRST_SCHEDULERS
    for name in needs.schedulers:
        if name not in ("default", *names_of(own_programs, SCHEDULER)) or not has_schedulers:
            message = f"the stock kernel {kernel.release} cannot be given the MPTCP scheduler '{name}'"
            raise InputError(message, hint=_HINT)
    for needed, subject in (
        (needs.scheduler_per_socket, "choice of the scheduler for single sockets"),
        (needs.weights, "weights of paths"),
        (any(re.match(r"net\.lab\.", word) for step in plan.setup for word in step.argv), "CPU time of nodes"),
    ):
        if needed:
            raise InputError(f"the stock kernel {kernel.release} has no {subject}", hint=_HINT)
    names = (setting.partition("=")[0] for setting in general_settings(plan.setup))
    if own_settings := dict.fromkeys(name for name in names if name.startswith(SETTINGS_OF_LAB)):
        message = f"the stock kernel {kernel.release} has no setting {', '.join(own_settings)}"
        raise InputError(message, hint=f"{_HINT}, or remove it from sysctl")


def _check_clashes(names: Sequence[str], kernel: StockKernel, tree: ModuleTree) -> None:
    for name in names:
        if tree.is_known and name in tree.congestion_controls:
            message = f"the stock kernel {kernel.release} has a congestion control '{name}' already"
            raise InputError(message, hint=f'give your program another name, like .name = "my_{name}"')


def _check_controls(plan: Plan, kernel: StockKernel, tree: ModuleTree, own_texts: Sequence[str]) -> None:
    programmed = _controls_with_programs(plan, tree)
    for name in programmed:
        if version_of(kernel.release) < FIRST_VERSION:
            message = f"the stock kernel {kernel.release} is too old for '{name}' as an eBPF program"
            raise InputError(message, hint=f"{_HINT}, or --engine stock:6.12")
        find_tool("bpftool")
        object_file(name)
    for name in plan.needs.congestion_controls if tree.is_known else ():
        if name not in (*tree.congestion_controls, *programmed, *own_texts):
            known = ", ".join((*own_texts, *tree.congestion_controls))
            message = f"the stock kernel {kernel.release} has no congestion control '{name}'"
            raise InputError(message, hint=f"{_HINT}, or one of {known}")


def _controls_with_programs(plan: Plan, tree: ModuleTree) -> list[str]:
    """Return the congestion controls of ``plan`` that the kernel lacks and that have an eBPF program."""
    needed = plan.needs.congestion_controls if tree.is_known else ()
    return [name for name in needed if name in CONTROLS and name not in tree.congestion_controls]


def program_contents(plan: Plan, kernel: StockKernel, tree: ModuleTree) -> dict[str, tuple[bytes, bool]]:
    """Return the files of the algorithms that are loaded as eBPF programs, and of their loader."""
    objects = dict(_objects(plan, kernel, tree))
    if not objects:
        return {}
    loader = find_tool("bpftool")
    return {
        **contents(program_files({"bpftool": loader})),
        **{f"{start.CONTROLS}/{name}": (content, False) for name, content in objects.items()},
        start.LOADER: (str(loader).encode(), False),
    }


def _objects(plan: Plan, kernel: StockKernel, tree: ModuleTree) -> Iterator[tuple[str, bytes]]:
    for name in _controls_with_programs(plan, tree):
        yield f"{name}{_SUFFIX}", object_file(name).read_bytes()
    for program in compile_user_programs(plan.bpf, kernel):
        yield f"{start.OWN}{program.file}", program.content


def check_loaded(folder: Path, kernel: StockKernel) -> None:
    """Check that the machine could load all programs. :raises InputError: if its kernel refuses one of the user's."""
    try:
        log = (folder / start.REFUSED).read_text(errors="replace")
    except FileNotFoundError:
        return
    name, _, log = log.partition("\n")
    shown = verifier_lines(log)
    what = reason_of(log) or (shown[-1] if shown else "its loader gives no reason")
    lines = "\n".join(f"  {line}" for line in shown)
    file = name.removeprefix(start.OWN)
    kind = LabError if file == name else InputError
    raise kind(f"the kernel {kernel.release} does not load '{file}': {what}", hint=f"bpftool reports:\n{lines}")
