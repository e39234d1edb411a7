# SPDX-License-Identifier: MIT
"""What a selftest printed, read: results in the Test Anything Protocol, and the reasons that stand before them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "not ok", "skip", "flaky"]

_RESULT = re.compile(r"^(?P<verdict>ok|not ok) (?P<number>\d+)(?: -)? (?P<name>[^#]*)(?:# ?(?P<comment>.*))?$")
_PLAN = re.compile(r"^1\.\.(\d+)$")
_FAILURE = re.compile(r"\[ ?(?:FAIL|SKIP|IGNO) ?\]")
_TIME = re.compile(r"\s*\btime=\d+ms\s*$")
_LONGEST_REASON = 160


@dataclass(frozen=True)
class Result:
    """One result: the script's own words for it, and why it is not simply ``ok``."""

    name: str
    verdict: Verdict
    reason: str = ""


def results(text: str) -> list[Result]:
    """All results in ``text``. Those that a plan announces and that do not come are ``not ok``.

    A script prints what it does first and its results at the end. So the reason of a failure is what the script said
    where it named the same test before.
    """
    lines = text.splitlines()
    found = list(_results(lines))
    reasons = _reasons(lines)
    described = [
        Result(name, verdict, _reason(name, reasons) or comment if verdict != "ok" else "")
        for name, verdict, comment in found
    ]
    plans = [int(match[1]) for line in lines if (match := _PLAN.match(line))]
    missing = max(plans, default=0) - len(described)
    return described + [
        Result(f"result {len(described) + 1 + n}", "not ok", "it was not printed") for n in range(missing)
    ]


def _results(lines: list[str]) -> Iterator[tuple[str, Verdict, str]]:
    for line in lines:
        match = _RESULT.match(line)
        if match is None:
            continue
        comment = _TIME.sub("", match["comment"] or "").strip()
        verdict: Verdict = "ok" if match["verdict"] == "ok" else "not ok"
        if comment.upper().startswith("SKIP"):
            verdict, comment = "skip", comment[4:].strip()
        elif comment.upper().startswith("IGNORE"):
            verdict = "flaky"
        name = match["name"].strip().partition(": ")
        yield name[2] or name[0], verdict, comment


def _reasons(lines: list[str]) -> list[tuple[str, str]]:
    """What was the matter, and the heading above it: pairs of heading and first complaint."""
    found: list[tuple[str, str]] = []
    heading = ""
    for line in lines:
        if re.match(r"^\d+ ", line):
            heading = line
        if _FAILURE.search(line) and (not found or found[-1][0] != heading or not heading):
            found.append((heading or line, _complaint(line)))
    return found


def _complaint(line: str) -> str:
    """The words around the mark, without the test's number."""
    words = _FAILURE.sub(" ", re.sub(r"^\d+ ", "", line))
    return " ".join(words.split())[:_LONGEST_REASON]


def _reason(name: str, reasons: list[tuple[str, str]]) -> str:
    wanted = _bare(name)
    found = next((complaint for heading, complaint in reasons if wanted and wanted in _bare(heading)), "")
    return found.removeprefix(" ".join(name.split())).strip()


def _bare(text: str) -> str:
    """For comparison: scripts fill headings up with blanks and add numbers."""
    return re.sub(r"[^a-z0-9>]+", "", re.sub(r"^\d+ ", "", text.lower()))
