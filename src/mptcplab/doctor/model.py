# SPDX-License-Identifier: MIT
"""Findings: the subject of a check, its state, its purpose, and the command that fixes it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


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
        """Whether experiments can run in the lab kernel."""
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
