# SPDX-License-Identifier: MIT
"""Parses the output of a selftest: results in the Test Anything Protocol, and the reasons printed before them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from mptcplab.metrics.warnings import complaints_in

Verdict = Literal["ok", "not ok", "skip", "flaky"]

_RESULT = re.compile(r"^(?P<verdict>ok|not ok) (?P<number>\d+)(?: -)? (?P<name>[^#]*)(?:# ?(?P<comment>.*))?$")
_PLAN = re.compile(r"^1\.\.(\d+)$")
_FAILURE = re.compile(r"\[ ?(?:FAIL|SKIP|IGNO) ?\]")
_SKIP = re.compile(r"\[ ?SKIP ?\]|^SKIP:")
_TIME = re.compile(r"\s*\btime=\d+ms\s*$")
_MAX_REASON_CHARS = 160


@dataclass(frozen=True)
class Result:
    """One result: its name in the script, and the reason if it is not ``ok``."""

    name: str
    verdict: Verdict
    reason: str = ""


def results(text: str) -> list[Result]:
    """Return all results in ``text``. Tests that a plan announces but that are not printed are ``not ok``.

    A script first prints its steps and at the end its results. Therefore the reason of a failure is the message below
    the earlier heading of the same test.
    """
    lines = text.splitlines()
    pairs = list(_results(lines))
    reasons = _reasons(lines)
    printed = [
        Result(name, verdict, _reason(name, reasons) or comment if verdict != "ok" else "")
        for name, verdict, comment in pairs
    ]
    plans = [int(match[1]) for line in lines if (match := _PLAN.match(line))]
    missing = max(plans, default=0) - len(printed)
    return printed + [Result(f"result {len(printed) + 1 + n}", "not ok", "it was not printed") for n in range(missing)]


def skip_reason(text: str) -> str:
    """Return why a script skipped all its tests, as it printed it; empty if it did not."""
    marks = (line for line in text.splitlines() if _SKIP.search(line))
    return next((_complaint(_SKIP.sub(" ", line)) for line in marks), "")


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
    """Return pairs of a heading and the first failure message below it."""
    reasons: list[tuple[str, str]] = []
    heading = ""
    for line in lines:
        if re.match(r"^\d+ ", line):
            heading = line
        if _FAILURE.search(line) and (not reasons or reasons[-1][0] != heading or not heading):
            reasons.append((heading or line, _complaint(line)))
    return reasons


def _complaint(line: str) -> str:
    """Return the text around the mark, without the test's number."""
    words = _FAILURE.sub(" ", re.sub(r"^\d+ ", "", line))
    return " ".join(words.split())[:_MAX_REASON_CHARS]


def _reason(name: str, reasons: list[tuple[str, str]]) -> str:
    key = _normalize(name)
    reason = next((complaint for heading, complaint in reasons if key and key in _normalize(heading)), "")
    return reason.removeprefix(" ".join(name.split())).strip()


def _normalize(text: str) -> str:
    """Return ``text`` in a form for comparison, since scripts pad headings with blanks and add numbers."""
    return re.sub(r"[^a-z0-9>]+", "", re.sub(r"^\d+ ", "", text.lower()))


# The kernel's log after a selftest, which is kept if one of the kernel's own checks complained.

_MARK = "# The kernel complained. Its log:"
#: A pattern for grep that matches every complaint, and perhaps more. Parsing the log decides which are complaints.
_SIGNS = "WARNING:|BUG:|UBSAN:|KASAN:|ODEBUG:|Oops|INFO: (possible|trying|suspicious)"


def watch_log(command: str) -> str:
    """Return a shell command that runs ``command`` and prints the kernel's log if it has complaints.

    Its exit status is ``command``'s.
    """
    return f"{command}; status=$?; dmesg | grep -qE '{_SIGNS}' && {{ echo; echo '{_MARK}'; dmesg; }}; exit $status"


def kernel_result(printed: str) -> Result | None:
    """Return a failed test if the kernel complained; None otherwise."""
    _, _, log = printed.partition(f"\n{_MARK}\n")
    complaints = complaints_in(log)
    more = f" (and others, {len(complaints)} in total)" if len(complaints) > 1 else ""
    return Result("the kernel's own checks", "not ok", f"{complaints[0]}{more}") if complaints else None
