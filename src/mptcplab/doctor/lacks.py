# SPDX-License-Identifier: MIT
"""The programs and kernels that scenarios and tables need and this machine lacks, and getting them."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mptcplab.doctor.examine import describe_machine
from mptcplab.doctor.model import DoctorReport, Finding, Level, LinuxDistribution, detect_system, words
from mptcplab.errors import LabError, MissingError, name_all, try_each
from mptcplab.kernel.cache import BUILD_COMMAND
from mptcplab.kernel.debian import STOCK_TOOLS as STOCK_TOOLS
from mptcplab.kernel.process import find_missing_tools, require_tools
from mptcplab.kernel.stock import STOCK_COMMAND
from mptcplab.lazy import module_environment
from mptcplab.prebuilt import find_shipped_folder
from mptcplab.proxies.build import missing_toolchain_packages, toolchain_of
from mptcplab.proxies.catalog import RECIPES

# The programs and kernels that scenarios and tables need and this machine lacks, and one command that gets them all.
#
# A kernel or a program of a gateway that has to be built can need packages, too. They are among what is missing, so
# that the command works at the first attempt.

_MAX_USERS = 3


@dataclass(frozen=True)
class Lack:
    """Something that this machine lacks, and the names of the scenarios, tables and commands that need it."""

    error: MissingError
    users: tuple[str, ...]

    @property
    def use(self) -> str:
        """The users in a sentence; of many, the first ones."""
        if len(self.users) <= _MAX_USERS + 1:
            return words(self.users)
        return f"{words(self.users[:_MAX_USERS])} and {len(self.users) - _MAX_USERS} others"


@dataclass(frozen=True)
class Lacks:
    """Everything that this machine lacks for some scenarios and tables.

    ``install_command`` is the command of mptcplab that gets it.
    """

    system: LinuxDistribution
    lacks: tuple[Lack, ...]
    install_command: str

    def __bool__(self) -> bool:
        return bool(self.lacks)

    @property
    def packages(self) -> list[str]:
        """The Debian packages to install."""
        return sorted({package for lack in self.lacks for package in lack.error.packages})

    @property
    def builds(self) -> list[str]:
        """The commands of mptcplab that build or download the rest, each once. They need the packages."""
        return list(dict.fromkeys(lack.error.command for lack in self.lacks if lack.error.command))

    @property
    def commands(self) -> list[str]:
        """All commands, in an order that works."""
        return [*([self.system.install(self.packages)] if self.packages else []), *self.builds]

    @property
    def command(self) -> str:
        """One line for a shell that gets everything; empty if no command does."""
        return (" && " if self.system.installs(self.packages) else "; then ").join(self.commands)

    @property
    def advice(self) -> list[str]:
        """Advice about the things that no command gets, such as a toolchain that Debian has only older."""
        others = (lack.error for lack in self.lacks if not lack.error.packages and not lack.error.command)
        return [f"{error.message}: {error.hint}" if error.hint else error.message for error in others]

    @property
    def report(self) -> DoctorReport:
        """The lacks as findings of `mptcplab doctor`."""
        return DoctorReport(describe_machine(self.system), tuple(self._findings()))

    def _findings(self) -> Iterator[Finding]:
        for lack in self.lacks:
            error = lack.error
            command = self.system.install(self.packages) if error.packages else error.command
            yield Finding(error.subject, Level.MISSING, error.message, lack.use, command, error.packages)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON document with the keys of `mptcplab doctor --json` where it has the same."""
        report = self.report.to_json()
        rows = [row | {"users": list(lack.users)} for row, lack in zip(report["findings"], self.lacks, strict=True)]
        return {
            "machine": report["machine"],
            "ready": not self.lacks,
            "findings": rows,
            "commands": self.commands,
            "command": self.command,
            "advice": self.advice,
        }

    def to_error(self) -> MissingError:
        """Return one error that names everything, and the commands that get it, if any does."""
        errors = [lack.error for lack in self.lacks]
        if not self.command:
            return errors[0] if len(errors) == 1 else name_all(errors, hint="\n  ".join(self.advice))
        by_hand = f"or by hand: {self.command}"
        others = [f"or {lack.error.alternative}" for lack in self.lacks if lack.error.alternative]
        advice = [f"no command gets this: {text}" for text in self.advice]
        hint = "\n  ".join([self.install_command, by_hand, *others, *advice])
        return name_all(errors, hint=hint)


def collect_lacks(
    by_user: Mapping[str, Iterable[MissingError]], install_command: str, system: LinuxDistribution | None = None
) -> Lacks:
    """Return what users lack, by their names, together with what building it takes: packages first, each thing once.

    ``install_command`` is the command of mptcplab that gets it.
    """
    errors: dict[str, MissingError] = {}
    users: dict[str, dict[str, None]] = {}
    for user, lacking in by_user.items():
        for error in lacking:
            errors.setdefault(error.subject, error)
            users.setdefault(error.subject, {})[user] = None
    for command, error in _find_missing_builders(list(errors.values())):
        errors.setdefault(error.subject, error)
        users.setdefault(error.subject, {})[f"`{command}`"] = None
    lacks = [Lack(error, tuple(users[subject])) for subject, error in errors.items()]
    return Lacks(system or detect_system(), tuple(sorted(lacks, key=_order)), install_command)


def _order(lack: Lack) -> int:
    """Return the place of a lack: what is installed, what no command gets, kernels, programs to build.

    A program whose compiler no package has cannot be built, and a shell skips the commands after a failed one.
    """
    error = lack.error
    if not error.command:
        return 0 if error.packages else 1
    return 2 if error.command.startswith((BUILD_COMMAND, STOCK_COMMAND)) else 3


def _find_missing_builders(errors: Sequence[MissingError]) -> Iterator[tuple[str, MissingError]]:
    """Yield the commands that build what ``errors`` are about, each with an error for a thing that it lacks."""
    recipes = [RECIPES[error.subject] for error in errors if error.subject in RECIPES]
    for recipe, error in try_each(toolchain_of, recipes):
        error.packages = tuple(missing_toolchain_packages([recipe]))
        yield f"mptcplab gateways build {recipe.name}", error
    if any(error.command.startswith(BUILD_COMMAND) for error in errors):
        yield from ((BUILD_COMMAND, error) for error in find_missing_tools())
    if any(error.command.startswith(STOCK_COMMAND) for error in errors):
        yield from ((STOCK_COMMAND, error) for _, error in try_each(_require_stock_tool, STOCK_TOOLS))


def _require_stock_tool(tool: str) -> None:
    require_tools({tool: STOCK_TOOLS[tool]})


# Gets what this machine lacks: installs Debian packages, builds programs and kernels. It asks nothing.

_SCRIPT = "install-packages"


def install(lacks: Lacks) -> list[str]:
    """Run the commands that get ``lacks``, and return a sentence for each that failed.

    Services of the packages do not start on this machine: they run in labs only. A build that fails does not prevent
    the others.
    :raises MissingError: if packages are missing, and this user cannot install any; then nothing has been done.
    """
    failures = []
    if lacks.packages:
        _check_installer(lacks.system, lacks.packages)
        status = _run([*_script(), "--named", *lacks.packages])
        failures += [f"installing {', '.join(lacks.packages)} ended with status {status}"] if status else []
    for command in lacks.builds:
        # The first word is our own name, which may not be on the PATH.
        status = _run([sys.executable, "-m", *shlex.split(command)])
        failures += [f"`{command}` ended with status {status}"] if status else []
    return failures


def _check_installer(system: LinuxDistribution, packages: Sequence[str]) -> None:
    """Check that this user can install packages without being asked for anything."""
    by_hand = system.install(packages)
    if system.family != "debian":
        message = f"--install installs packages with apt, and {system.name} has another package manager"
        raise MissingError(message, hint=by_hand)
    if system.is_root:
        return
    why = "sudo is not installed" if shutil.which("sudo") is None else "sudo asks for a password"
    if shutil.which("sudo") is None or _run(["sudo", "-n", "true"], quiet=True):
        message = f"packages cannot be installed: this user is not root, and {why}"
        raise MissingError(message, hint=f"{by_hand}, and then this command again")


def _script() -> list[str]:
    """Return the script that installs packages, and keeps their services from starting, as a command."""
    folder = find_shipped_folder("scripts", "scripts", proof=_SCRIPT)
    if folder is None:
        raise LabError(f"the script {_SCRIPT} is missing", hint="install mptcplab again, or use a complete checkout")
    return ["sh", str(folder / _SCRIPT)]


def _run(command: Sequence[str], *, quiet: bool = False) -> int:
    """Run a command that can ask nothing, and return its exit status. Its output goes to standard error."""
    output = subprocess.DEVNULL if quiet else sys.stderr
    environment = module_environment()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment, check=False)
    return done.returncode
