# SPDX-License-Identifier: MIT
"""Generate docs/reasons.md from the catalogue and from the meaning of the kernel's counters.

``python -m mptcplab.explain.reference --write docs/reasons.md`` writes what is between its markers, and a test checks
that it is up to date.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from mptcplab.errors import InputError
from mptcplab.explain.evidence import NEEDS
from mptcplab.explain.meaning import KERNEL, LAB
from mptcplab.explain.reason import KINDS, Reason
from mptcplab.explain.registry import reasons
from mptcplab.plain_tables import markdown_table

_TITLES = {
    "fallback": "Plain TCP instead of MPTCP",
    "no subflow": "Fewer subflows than expected",
    "failover": "A path fails",
    "waiting": "Nothing arrives for a while",
    "low sum": "Less than the sum of the paths",
}
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_REASONS = re.compile(r"(<!-- begin of the reasons -->\n).*?(<!-- end of the reasons -->)", re.DOTALL)
_COUNTERS = re.compile(r"(<!-- begin of the counters -->\n).*?(<!-- end of the counters -->)", re.DOTALL)


def _show_placeholders(text: str) -> str:
    """Return a sentence with its placeholders in italics."""
    return _PLACEHOLDER.sub(r"*\1*", text)


def _section(reason: Reason) -> Iterator[str]:
    needs = "; ".join(NEEDS[need][0] for need in reason.needs)
    scenario = reason.scenario
    produced = (
        f"[`{scenario}.toml`](../tests/lab/reasons/{scenario}.toml)"
        if scenario is not None
        else f"not produced in the lab: {reason.why_no_scenario}"
    )
    yield f"### {reason.key}"
    yield f"**{reason.title}.** {reason.explanation}"
    yield "\n".join(
        (
            f"- says: {_show_placeholders(reason.sentence)}",
            f"- cure: {_show_placeholders(reason.cure)}",
            f"- confirmed by: {reason.confirm}",
            f"- needs: {needs}",
            f"- scenario: {produced}",
            f"- more: [{reason.page}]({reason.page})",
        )
    )


def catalogue() -> str:
    """Return all reasons as Markdown, by kind."""
    parts: list[str] = []
    for kind in KINDS:
        parts.append(f"## {_TITLES[kind]}")
        for reason in reasons().values():
            if reason.kind == kind:
                parts += _section(reason)
    return "\n\n".join(parts)


def counters() -> str:
    """Return the table of the kernel's counters as Markdown."""
    rows = ((f"`{counter.name}`", counter.side, counter.meaning) for counter in (*KERNEL, *LAB))
    return markdown_table(("counter", "at", "each time"), rows)


def replace(document: str) -> str:
    """Return ``document`` with the catalogue and the counters between their markers."""
    document = _REASONS.sub(lambda match: f"{match[1]}{catalogue()}\n{match[2]}", document)
    return _COUNTERS.sub(lambda match: f"{match[1]}{counters()}\n{match[2]}", document)


def main(arguments: list[str]) -> None:
    """Write the page after ``--write``. :raises InputError: if no file is named."""
    if arguments[:1] != ["--write"] or len(arguments) != 2:
        raise InputError("no file to write is named", hint="--write docs/reasons.md")
    file = Path(arguments[1])
    file.write_text(replace(file.read_text()))


if __name__ == "__main__":
    main(sys.argv[1:])
