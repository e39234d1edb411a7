# SPDX-License-Identifier: MIT
"""What a plan needs of this machine's kernel, tried before anything runs.

Each need is tried by the commands of the plan itself, in namespaces that end with the trial. What is missing is named
with the links that need it and with the module to load or to install.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mptcplab.cache import cache_root, work_dir
from mptcplab.engine.local.process import LocalProcess
from mptcplab.engine.report import read_report
from mptcplab.engine.tools import find_program
from mptcplab.errors import MissingError
from mptcplab.plan.model import Plan
from mptcplab.steps import Command

#: Far longer than a trial takes, each of whose commands needs some ms.
_TRIAL_SECONDS = 60.0
_LO = ("ip", "link", "set", "dev", "lo", "up")
#: Kernel modules of words of `tc` whose names differ.
_MODULES = {
    "clsact": "sch_ingress",
    "drop": "act_gact",
    "pass": "act_gact",
    "matchall": "cls_matchall",
    "nft": "nf_tables",
}
_ELSEWHERE = "use another --engine: virtual or stock"


@dataclass
class Need:
    """One part of the kernel: its module, the commands that try it, and the links or nodes that need it."""

    name: str
    module: str
    trial: list[list[str]]
    users: dict[str, None] = field(default_factory=dict)


def needs_of(plan: Plan) -> dict[str, Need]:
    """Return the parts of the kernel that the commands of ``plan`` use, by name."""
    links = {(queue.node, queue.device): queue.link for queue in plan.queues}
    found: dict[str, Need] = {}
    for command in plan.commands:
        for name, module, trial in _trials(command):
            key = json.dumps([name, trial])
            need = found.setdefault(key, Need(name, module, trial))
            device = command.argv[command.argv.index("dev") + 1] if "dev" in command.argv else ""
            user = links.get((command.node or "", device)) or command.node
            need.users |= {user: None} if user else {}
    return found


def _trials(command: Command) -> Iterator[tuple[str, str, list[list[str]]]]:
    """Yield name, module and trial of what ``command`` uses."""
    argv = list(command.argv)
    if argv[:3] == ["ip", "link", "add"]:
        kind = argv[argv.index("type") + 1]
        if kind in ("veth", "ifb"):
            yield f"interfaces of type {kind}", kind, [["ip", "link", "add", "name", "probe", "type", kind]]
    if argv[:2] == ["tc", "qdisc"] and command.features:
        kind = command.features[0]
        words = argv[argv.index(kind, 5) :]
        add = ["tc", "qdisc", "add", "dev", "lo", "root", "handle", "1:"]
        yield kind, _MODULES.get(kind, f"sch_{kind}"), [list(_LO), [*add, *words]]
    clsact = ["tc", "qdisc", "add", "dev", "lo", "clsact"]
    if argv[:2] == ["tc", "qdisc"] and "clsact" in argv:
        yield "clsact", _MODULES["clsact"], [clsact]
    if argv[:2] == ["tc", "filter"] and "action" in argv:
        words = argv[argv.index("action") + 1 :]
        target = ["lo" if before == "dev" else word for before, word in zip(["", *words], words, strict=False)]
        # Without any option, the kernel refuses the filter.
        matchall = ["tc", "filter", "add", "dev", "lo", "ingress", "matchall", "classid", "1:1"]
        yield "matchall", _MODULES["matchall"], [clsact, matchall]
        module = _MODULES.get(words[0], f"act_{words[0]}")
        yield f"action {words[0]}", module, [list(_LO), ["tc", "actions", "add", "action", *target]]
    if argv[0] == "nft":
        yield "nft", _MODULES["nft"], [argv]


def check_needs(plan: Plan) -> None:
    """Check that this machine's kernel has what ``plan`` needs.

    :raises MissingError: naming all that is missing, and what to install or load.
    """
    needs = needs_of(plan)
    settings = sorted(_settings(plan))
    found = _try(
        {
            "commands": {
                key: [[str(find_program(argv[0])), *argv[1:]] for argv in need.trial] for key, need in needs.items()
            },
            "settings": settings,
            "needs": asdict(plan.needs),
        }
    )
    release = os.uname().release
    _check_commands([(need, found["failed"][key]) for key, need in needs.items() if key in found["failed"]], release)
    _check_controls(plan, found, release)
    if found["needs"]:
        raise MissingError(f"{found['needs']} (Linux {release})", hint=_ELSEWHERE)
    if found["settings"]:
        names = ", ".join(name.removeprefix("/proc/sys/").replace("/", ".") for name in found["settings"])
        raise MissingError(f"the kernel {release} of this machine does not have the settings {names}", hint=_ELSEWHERE)
    if found["diagnosis"]:
        message = f"the kernel {release} of this machine has no diagnosis of TCP sockets: {found['diagnosis']}"
        raise MissingError(message, hint=_load(["tcp_diag", "mptcp_diag"], release))


def _settings(plan: Plan) -> Iterator[str]:
    """Yield the files of settings that every namespace has: not those of interfaces, which do not exist yet."""
    for command in plan.commands:
        if command.argv[:2] != ("sysctl", "-qw"):
            continue
        for setting in command.argv[2:]:
            words = setting.partition("=")[0].split(".")
            if not {"conf", "neigh"} & set(words):
                yield f"/proc/sys/{'/'.join(words)}"


def _try(tests: dict[str, Any]) -> dict[str, Any]:
    with work_dir("local", cache_root()) as folder:
        (folder / "tests.json").write_text(json.dumps(tests))
        code = f"from mptcplab.engine.local.probe import main; main({str(folder)!r})"
        cpu = min(os.sched_getaffinity(0))
        verdict = None
        with LocalProcess(code, cpu=cpu, folder=folder) as process:
            while not process.wait(1.0):
                if process.virtual_ns() > _TRIAL_SECONDS * 10**9:
                    verdict = f"trying what the kernel has took longer than {_TRIAL_SECONDS:g} s"
                    break
        report = folder / "found.json"
        if report.is_file():
            report.rename(folder / "guest.json")
        hint = "see docs/engine-local.md: without root, this machine must allow user namespaces"
        return read_report(folder, process, verdict, hint=hint)


def _check_commands(failed: list[tuple[Need, str]], release: str) -> None:
    if not failed:
        return
    by_name: dict[str, dict[str, None]] = {}
    for need, text in failed:
        label = need.name if _says_nothing_new(text) else f"{need.name} ({text})"
        by_name.setdefault(label, {}).update(need.users)
    listed = "; ".join(f"{name}, needed by {', '.join(users)}" if users else name for name, users in by_name.items())
    message = f"the kernel {release} of this machine lacks: {listed}"
    raise MissingError(message, hint=_load(sorted({need.module for need, _ in failed}), release))


def _says_nothing_new(text: str) -> bool:
    """Return whether an error only says that the kernel does not have a part."""
    return any(
        words in text for words in ("unknown", "No such file", "not supported", "Unknown device type", "not found")
    )


def _check_controls(plan: Plan, found: dict[str, Any], release: str) -> None:
    names = plan.needs.congestion_controls
    missing = [name for name in names if name not in found["available"]]
    if missing:
        message = f"the kernel {release} of this machine has no congestion control {', '.join(missing)}"
        hint = _load([f"tcp_{name}" for name in missing], release)
        raise MissingError(message, hint=f"it has {', '.join(found['available'])}; {hint}")
    barred = [name for name in names if name not in found["allowed"]]
    if barred:
        allowed = " ".join([*found["allowed"], *barred])
        message = f"this machine does not allow the congestion control {', '.join(barred)} in namespaces"
        raise MissingError(message, hint=f'sudo sysctl -w net.ipv4.tcp_allowed_congestion_control="{allowed}"')


def _load(modules: list[str], release: str) -> str:
    """Return how to get ``modules`` for this kernel."""
    folder = Path("/lib/modules") / release
    there = [name for name in modules if any(folder.rglob(f"{name.replace('_', '?')}.ko*"))]
    if there == modules:
        return f"sudo modprobe -a {' '.join(modules)}"
    rest = [name for name in modules if name not in there]
    return (
        f"install a kernel with the modules {', '.join(rest)} (Debian: linux-image-amd64; Ubuntu: "
        f"linux-modules-extra-$(uname -r)), or {_ELSEWHERE}"
    )
