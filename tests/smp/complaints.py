# SPDX-License-Identifier: MIT
"""Parses complaints of the kernel's own checks on its console."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

KNOWN = Path(__file__).parent / "known.toml"

#: Seconds since boot, and the task or CPU that printed (PRINTK_TIME, PRINTK_CALLER).
_PREFIX = re.compile(r"^\[ *\d+\.\d+\](?:\[ *[TC]\d+\])? ?")
#: The beginnings of reports by the kernel's checks.
_SIGN = re.compile(
    r"\b(?:WARNING|BUG|ODEBUG|Oops|KASAN|UBSAN|INFO(?=: (?:possible|trying|suspicious|task|rcu))): "
    r"|kernel BUG at |Kernel panic|general protection fault|list_(?:add|del) corruption|refcount_t: |ref_tracker: "
    r"|unregister_netdevice: waiting|Attempt to release "
)
_RACE = re.compile(r"KCSAN: data-race in ([\w.]+)(?: / ([\w.]+))?")
_WARNING = re.compile(r"WARNING: (\S+:\d+) at ")
_RULE = re.compile(r"^={20,}$")
#: The suffixes that GCC appends to the name of a function's clone.
_CLONE = re.compile(r"(?:\.(?:isra|constprop|part|cold)(?:\.\d+)?)+$")
_MAX_REPORT_LINES = 120


@dataclass(frozen=True)
class Complaint:
    """One report of one check."""

    title: str
    """Its first line."""
    text: str
    """The whole report, as far as its end can be recognised."""

    @property
    def signature(self) -> frozenset[str]:
        """The functions of a data race, or a warning's place in the source; empty for all other complaints."""
        race, warning = _RACE.search(self.title), _WARNING.search(self.title)
        if race:
            return frozenset(_CLONE.sub("", name) for name in race.groups() if name)
        return frozenset(warning.groups()) if warning else frozenset()


def complaints_in(console: str) -> list[Complaint]:
    """Return all complaints on a kernel's console, in order."""
    lines = [_PREFIX.sub("", line.rstrip()) for line in console.splitlines()]
    return list(_reports(lines))


def _reports(lines: list[str]) -> Iterator[Complaint]:
    starts = [number for number, line in enumerate(lines) if _SIGN.search(line)]
    for start, following in pairwise([*starts, len(lines)]):
        report = lines[start : min(following, start + _MAX_REPORT_LINES)]
        end = next((number for number, line in enumerate(report) if _RULE.match(line)), len(report))
        yield Complaint(report[0].strip(), "\n".join(report[:end]).rstrip())


def known_complaints(file: Path = KNOWN) -> dict[frozenset[str], str]:
    """Return mainline's own complaints: signatures, with the reason why each is known to be mainline's."""
    data = tomllib.loads(file.read_text())
    races = {frozenset(entry["functions"]): entry["reason"] for entry in data.get("race", [])}
    return races | {frozenset([entry["place"]]): entry["reason"] for entry in data.get("warning", [])}


def unknown(complaints: list[Complaint], known: dict[frozenset[str], str]) -> list[Complaint]:
    """Return the complaints that are not known to be mainline's; a successful run has none."""
    return [complaint for complaint in complaints if not complaint.signature or complaint.signature not in known]
