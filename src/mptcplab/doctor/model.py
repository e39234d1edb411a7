# SPDX-License-Identifier: MIT
"""A finding: what was looked at, how it is, what it is needed for, and the command that mends it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Level(StrEnum):
    """How something is. Only what is broken keeps an experiment from running."""

    FINE = "fine"
    MISSING = "missing"
    BROKEN = "broken"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    ``needed_for`` says what cannot be done without it. ``command`` mends it; Debian packages that mend it stand in
    ``packages``, so that one command can install them all.
    """

    subject: str
    level: Level
    says: str
    needed_for: str = ""
    command: str = ""
    packages: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """All findings about one machine."""

    machine: str
    findings: tuple[Finding, ...]

    @property
    def can_run(self) -> bool:
        """Whether the main job can be done: an experiment in the lab kernel."""
        return all(finding.level != Level.BROKEN for finding in self.findings)

    @property
    def commands(self) -> list[str]:
        """What mends everything, in an order that works, each command once."""
        unwell = [finding for finding in self.findings if finding.level != Level.FINE and finding.command]
        unwell.sort(key=lambda finding: finding.level != Level.BROKEN)
        return list(dict.fromkeys(finding.command for finding in unwell))

    def to_json(self) -> dict[str, Any]:
        """The report as one JSON document."""
        rows = [
            {
                "subject": finding.subject,
                "level": finding.level.value,
                "says": finding.says,
                "needed_for": finding.needed_for,
                "command": finding.command,
            }
            for finding in self.findings
        ]
        return {"machine": self.machine, "can_run": self.can_run, "findings": rows, "commands": self.commands}


def fine(subject: str, says: str) -> Finding:
    """Nothing to do."""
    return Finding(subject, Level.FINE, says)


def as_root(command: str) -> str:
    """A command that only root may give; in a container one often is root, and has no sudo."""
    return command if os.geteuid() == 0 else f"sudo {command}"


def words(names: Iterable[str]) -> str:
    """Names in one line."""
    return ", ".join(names)
