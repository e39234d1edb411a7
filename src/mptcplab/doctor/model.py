# SPDX-License-Identifier: MIT
"""Findings: a subject, its state, and the command that fixes it, with the packages of other distributions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

# Findings: the subject of a check, its state, its purpose, and the command that fixes it.


class Level(StrEnum):
    """The state of something. Only a broken one prevents experiments from running."""

    FINE = "fine"
    MISSING = "missing"
    BROKEN = "broken"


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    ``needed_for`` is the purpose that needs the subject. ``command`` fixes it. ``packages`` are the Debian packages
    that fix it, so that one command can install the packages of all findings.
    """

    subject: str
    level: Level
    message: str
    needed_for: str = ""
    command: str = ""
    packages: tuple[str, ...] = ()


@dataclass(frozen=True)
class DoctorReport:
    """All findings about one machine."""

    machine: str
    findings: tuple[Finding, ...]

    @property
    def can_run(self) -> bool:
        """True if experiments can run in the lab kernel."""
        return all(finding.level != Level.BROKEN for finding in self.findings)

    @property
    def commands(self) -> list[str]:
        """The commands that fix everything, each once, in an order that works."""
        fixable = [finding for finding in self.findings if finding.level != Level.FINE and finding.command]
        fixable.sort(key=lambda finding: finding.level != Level.BROKEN)
        return list(dict.fromkeys(finding.command for finding in fixable))

    def to_json(self) -> dict[str, Any]:
        """Return the report as a JSON document."""
        rows = [
            {
                "subject": finding.subject,
                "level": finding.level.value,
                "says": finding.message,
                "needed_for": finding.needed_for,
                "command": finding.command,
            }
            for finding in self.findings
        ]
        return {"machine": self.machine, "can_run": self.can_run, "findings": rows, "commands": self.commands}


def finding_without_fix(subject: str, message: str) -> Finding:
    """Return a finding that needs no fix."""
    return Finding(subject, Level.FINE, message)


def as_root(command: str) -> str:
    """Return a command for root: with sudo, unless this process is root, as it often is in a container."""
    return command if os.geteuid() == 0 else f"sudo {command}"


def words(names: Iterable[str]) -> str:
    """Return names as a list in one line."""
    return ", ".join(names)


# The packages of other distributions by the Debian names that our code uses, and the commands that install them.

#: Fedora's and Arch's names by Debian's name, where they differ.
_OTHERS: dict[str, tuple[str, str]] = {
    "cargo": ("cargo", "rust"),
    "golang-go": ("golang", "go"),
    "iproute2": ("iproute iproute-tc", "iproute2"),
    "iputils-ping": ("iputils", "iputils"),
    "libc6-dev": ("glibc-devel", "glibc"),
    "mptcpize": ("mptcpd", "mptcpd"),
    "procps": ("procps-ng", "procps-ng"),
    "python3": ("python3", "python"),
    "tshark": ("wireshark-cli", "wireshark-cli"),
    "xz-utils": ("xz", "xz"),
}
_INSTALLERS = {"debian": "apt-get install", "fedora": "dnf install", "arch": "pacman -S"}
_FAMILIES = {"debian": 0, "fedora": 1, "arch": 2}
#: Packages in Arch's user repository, which pacman does not search.
_AUR = ("mptcpd",)


@dataclass(frozen=True)
class LinuxDistribution:
    """A distribution: its family (debian, fedora, arch, or empty if unknown) and its name."""

    family: str
    name: str
    is_root: bool = False

    def installs(self, packages: Iterable[str]) -> bool:
        """Return whether :meth:`install` of ``packages`` is one command that a shell can run."""
        of_arch = (_OTHERS.get(name, (name, name))[_FAMILIES["arch"] - 1] for name in packages)
        return self.family in _INSTALLERS and not (self.family == "arch" and any(name in _AUR for name in of_arch))

    def install(self, packages: Iterable[str]) -> str:
        """Return the command that installs the packages that Debian calls ``packages``."""
        names = sorted(set(packages))
        sudo = "" if self.is_root else "sudo "
        if self.family not in _INSTALLERS:
            return f"install the equivalents of Debian's {' '.join(names)}"
        if self.family != "debian":
            names = sorted({_OTHERS.get(name, (name, name))[_FAMILIES[self.family] - 1] for name in names})
        packaged = [name for name in names if not (self.family == "arch" and name in _AUR)]
        command = f"{sudo}{_INSTALLERS[self.family]} {' '.join(packaged)}" if packaged else ""
        others = [name for name in names if name not in packaged]
        aur = f"makepkg -si in a clone of {' and '.join(others)} from the AUR" if others else ""
        return "; then ".join(filter(None, (command, aur)))


def detect_system(release: Path = Path("/etc/os-release")) -> LinuxDistribution:
    """Return the distribution of this machine according to os-release(5)."""
    try:
        lines = release.read_text().splitlines()
    except OSError:
        lines = []
    values = {key: value.strip("\"'") for key, _, value in (line.partition("=") for line in lines)}
    return LinuxDistribution(_family(values), values.get("PRETTY_NAME", "Linux"), is_root=os.geteuid() == 0)


def _family(values: Mapping[str, str]) -> str:
    names = [values.get("ID", ""), *values.get("ID_LIKE", "").split()]
    # Red Hat and its clones name rhel, and use Fedora's package names.
    known = {"debian": "debian", "ubuntu": "debian", "fedora": "fedora", "rhel": "fedora", "arch": "arch"}
    return next((known[name] for name in names if name in known), "")
