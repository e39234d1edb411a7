# SPDX-License-Identifier: MIT
"""What a plan needs of this machine's kernel, tried before anything runs.

Each need is tried by the commands of the plan itself, in namespaces that end with the trial. What is missing is named
with the links that need it and with the module to load or to install.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mptcplab.cache import cache_root, make_work_folder
from mptcplab.engine.local.process import LocalProcess
from mptcplab.engine.needs import Need, general_settings, needs_of
from mptcplab.engine.report import read_report
from mptcplab.engine.tools import find_program
from mptcplab.errors import MissingError
from mptcplab.plan.model import Plan

#: Far longer than a trial takes, each of whose commands needs some ms.
_TRIAL_SECONDS = 60.0
_ELSEWHERE = "use another --engine: virtual or stock"


def check_needs(plan: Plan) -> None:
    """Check that this machine's kernel has what ``plan`` needs.

    :raises MissingError: naming all that is missing, and what to install or load.
    """
    needs = needs_of(plan)
    settings = sorted(map(_file_of, general_settings(plan.commands)))
    entry = _try(
        {
            "commands": {
                key: [[str(find_program(argv[0])), *argv[1:]] for argv in need.trial] for key, need in needs.items()
            },
            "settings": settings,
            "needs": asdict(plan.needs),
        }
    )
    release = os.uname().release
    _check_commands([(need, entry["failed"][key]) for key, need in needs.items() if key in entry["failed"]], release)
    _check_controls(plan, entry, release)
    if entry["needs"]:
        raise MissingError(f"{entry['needs']} (Linux {release})", hint=_ELSEWHERE)
    if entry["settings"]:
        names = ", ".join(name.removeprefix("/proc/sys/").replace("/", ".") for name in entry["settings"])
        raise MissingError(f"the kernel {release} of this machine does not have the settings {names}", hint=_ELSEWHERE)
    if entry["diagnosis"]:
        message = f"the kernel {release} of this machine has no diagnosis of TCP sockets: {entry['diagnosis']}"
        raise MissingError(message, hint=_load(["tcp_diag", "mptcp_diag"], release))


def _file_of(setting: str) -> str:
    """Return the file of a setting, which has a value behind its name."""
    return f"/proc/sys/{setting.partition('=')[0].replace('.', '/')}"


def _try(tests: dict[str, Any]) -> dict[str, Any]:
    with make_work_folder("local", cache_root()) as folder:
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
        label = need.name if _is_expected_error(text) else f"{need.name} ({text})"
        by_name.setdefault(label, {}).update(need.users)
    listed = "; ".join(f"{name}, needed by {', '.join(users)}" if users else name for name, users in by_name.items())
    message = f"the kernel {release} of this machine lacks: {listed}"
    raise MissingError(message, hint=_load(sorted({need.module for need, _ in failed}), release))


def _is_expected_error(text: str) -> bool:
    """Return whether an error only says that the kernel does not have a part."""
    return any(
        words in text for words in ("unknown", "No such file", "not supported", "Unknown device type", "not found")
    )


def _check_controls(plan: Plan, controls: dict[str, Any], release: str) -> None:
    names = plan.needs.congestion_controls
    missing = [name for name in names if name not in controls["available"]]
    if missing:
        message = f"the kernel {release} of this machine has no congestion control {', '.join(missing)}"
        hint = _load([f"tcp_{name}" for name in missing], release)
        raise MissingError(message, hint=f"it has {', '.join(controls['available'])}; {hint}")
    barred = [name for name in names if name not in controls["allowed"]]
    if barred:
        allowed = " ".join([*controls["allowed"], *barred])
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
