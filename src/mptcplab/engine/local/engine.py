# SPDX-License-Identifier: MIT
"""The engine ``local``: one plan on this machine's kernel, in network namespaces and in real time."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import select
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from mptcplab.cache import cache_root, make_work_folder
from mptcplab.engine.defaults import DEFAULT_STALL_SECONDS
from mptcplab.engine.local import isolation, start
from mptcplab.engine.needs import Need, general_settings, needs_of
from mptcplab.engine.process import GuestProcess, Watchdog, watch
from mptcplab.engine.protocol import Capabilities, Outcome
from mptcplab.engine.report import hidden_folders, package_folder, read_outcome, read_report
from mptcplab.engine.tools import find_program, find_programs
from mptcplab.errors import MissingError
from mptcplab.files import format_json
from mptcplab.kernel.config import timer_frequency
from mptcplab.plan.model import Plan

# A run of the engine ``local`` as processes of this machine.

#: A killed process that waits for a disk ends late. Longer than any wait seen.
_END_SECONDS = 30.0


class LocalProcess(GuestProcess):
    """Python with ``code``, which may start further processes. At the end of the context, none of them is left."""

    def __init__(self, code: str, *, cpu: int, folder: Path) -> None:
        """Start ``code`` on ``cpu`` in ``folder``."""
        self._started_ns = time.monotonic_ns()
        # All its processes inherit the writing end, which so closes with the last one.
        self._life, writer = os.pipe()
        try:
            super().__init__(
                [str(Path(sys.executable).resolve()), "-IS", "-c", _script(code)],
                cpus={cpu},
                folder=folder,
                environment={"PATH": os.environ.get("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")},
                passed=(writer,),
            )
        finally:
            os.close(writer)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        with contextlib.suppress(OSError):
            select.select([self._life], [], [], _END_SECONDS)
        os.close(self._life)
        super().__exit__(kind, error, trace)

    def virtual_ns(self) -> int:
        """Return the time since the start: this engine's clock is real."""
        return time.monotonic_ns() - self._started_ns


def _script(code: str) -> str:
    return f"import sys; sys.path.insert(0, {str(package_folder())!r}); {code}"


# What a plan needs of this machine's kernel, tried before anything runs.
#
# Each need is tried by the commands of the plan itself, in namespaces that end with the trial. What is missing is
# named with the links that need it and with the module to load or to install.

#: Far longer than a trial takes, each of whose commands needs some ms.
_TRIAL_SECONDS = 60.0
_ELSEWHERE = "use another --engine: virtual or stock"


def check_needs(plan: Plan) -> None:
    """Check that this machine's kernel has what ``plan`` needs.

    :raises MissingError: naming all that is missing, and what to install or load.
    """
    needs = needs_of(plan)
    settings = sorted(map(_file_of, general_settings(plan.commands)))
    trial = _try(
        {
            "commands": {
                key: [[str(find_program(argv[0])), *argv[1:]] for argv in need.trial] for key, need in needs.items()
            },
            "settings": settings,
            "needs": asdict(plan.needs),
        }
    )
    release = os.uname().release
    _check_commands([(need, trial.failed[key]) for key, need in needs.items() if key in trial.failed], release)
    _check_controls(plan, trial, release)
    if trial.needs:
        raise MissingError(f"{trial.needs} (Linux {release})", hint=_ELSEWHERE)
    if trial.settings:
        names = ", ".join(name.removeprefix("/proc/sys/").replace("/", ".") for name in trial.settings)
        raise MissingError(f"the kernel {release} of this machine does not have the settings {names}", hint=_ELSEWHERE)
    if trial.diagnosis:
        message = f"the kernel {release} of this machine has no diagnosis of TCP sockets: {trial.diagnosis}"
        raise MissingError(message, hint=_load(["tcp_diag", "mptcp_diag"], release))


def _file_of(setting: str) -> str:
    """Return the file of a setting, which has a value behind its name."""
    return f"/proc/sys/{setting.partition('=')[0].replace('.', '/')}"


@dataclass(frozen=True)
class _Trial:
    """Findings of :mod:`mptcplab.engine.local.probe`: errors of needs that failed, and what the kernel lacks.

    ``settings`` are files that are missing, ``available`` and ``allowed`` congestion controls. ``needs`` and
    ``diagnosis`` are errors, empty if nothing is missing.
    """

    failed: Mapping[str, str]
    settings: Sequence[str]
    available: Sequence[str]
    allowed: Sequence[str]
    needs: str
    diagnosis: str


def _try(tests: dict[str, Any]) -> _Trial:
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
        return _Trial(**read_report(folder, process, verdict, hint=hint))


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


def _check_controls(plan: Plan, trial: _Trial, release: str) -> None:
    names = plan.needs.congestion_controls
    missing = [name for name in names if name not in trial.available]
    if missing:
        message = f"the kernel {release} of this machine has no congestion control {', '.join(missing)}"
        hint = _load([f"tcp_{name}" for name in missing], release)
        raise MissingError(message, hint=f"it has {', '.join(trial.available)}; {hint}")
    barred = [name for name in names if name not in trial.allowed]
    if barred:
        allowed = " ".join([*trial.allowed, *barred])
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


_POLL_SECONDS = 0.25
_CLOCK_SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")


@dataclass(frozen=True)
class LocalEngine:
    """Executes plans on this machine's kernel. ``tools`` maps names of our programs to their paths."""

    tools: Mapping[str, Path]
    stall_seconds: float = DEFAULT_STALL_SECONDS

    @property
    def kernel_facts(self) -> dict[str, Any]:
        """See :class:`mptcplab.engine.protocol.Engine`. Time is real, so the clock is a fact, too."""
        return dict(_kernel_facts())

    def check(self, plan: Plan) -> None:
        """See :class:`mptcplab.engine.protocol.Engine`. :raises MissingError: naming all that the kernel lacks."""
        check_needs(plan)

    def execute(self, plan: Plan, *, seed: int, folder: Path, cpu: int, stop: int | None = None) -> Outcome:
        """See :class:`mptcplab.engine.protocol.Engine`. The seed is in the plan; this kernel takes none."""
        del seed
        programs = find_programs(plan.uses, self.tools)
        work = {"plan": plan.to_dict(), "programs": {name: str(path) for name, path in programs.items()}}
        (folder / "plan.json").write_text(format_json(work, levels=3))
        exposed = [str(path) for path in hidden_folders(path.parent for path in programs.values())]
        code = f"from mptcplab.engine.local.start import main; main({str(folder.resolve())!r}, {exposed!r})"
        started = time.monotonic()
        with LocalProcess(code, cpu=cpu, folder=folder) as process:
            verdict = watch(process, Watchdog(plan.deadline_ns, self.stall_seconds), _POLL_SECONDS, stop)
        (folder / "console.txt").write_text(process.console.text)
        return read_outcome(folder, process, verdict, plan, started=started)


@cache
def _kernel_facts() -> Mapping[str, Any]:
    kernel, config = os.uname(), _config()
    code = b"".join(Path(str(module.__file__)).read_bytes() for module in (isolation, start))
    with_root = os.geteuid() == 0
    key = hashlib.sha256(f"{kernel.release} {kernel.version} {kernel.machine} {with_root}".encode() + code)
    return {
        "release": kernel.release,
        "key": key.hexdigest(),
        "config_sha256": hashlib.sha256(config.encode()).hexdigest() if config else "",
        "hz": timer_frequency(config),
        "time": "real",
        "clock_source": _CLOCK_SOURCE.read_text().strip() if _CLOCK_SOURCE.is_file() else "",
    }


def _config() -> str:
    """Return the running kernel's configuration; empty if this machine does not have it."""
    packed = Path("/proc/config.gz")
    if packed.is_file():
        return gzip.decompress(packed.read_bytes()).decode()
    try:
        return Path(f"/boot/config-{os.uname().release}").read_text()
    except OSError:
        return ""


class LocalEngineKind:
    """The kind of engine that uses this machine's kernel."""

    capabilities = Capabilities(
        virtual_time=False, needs_root=False, one_kernel=True, chooses_kernel=False, features=None
    )

    def prepare(self, version: str, tools: Mapping[str, Path], *, stall_seconds: float) -> LocalEngine:
        """See :class:`mptcplab.engine.protocol.EngineKind`. ``version`` is of lab kernels, and so not used."""
        del version
        return LocalEngine(tools, stall_seconds)

    def check_folder(self, folder: Path) -> None:
        """See :class:`mptcplab.engine.protocol.EngineKind`: every folder of this machine will do."""
