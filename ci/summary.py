# SPDX-License-Identifier: MIT
"""Prints a page in Markdown about the results that ci/test left: ``python ci/summary.py FOLDER``.

The page has a line for each suite of tests, every test that did not pass, and the tables of the scenarios. It needs the
standard library only.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

#: GitHub rejects a summary of more than 1 MiB; a table has some kB.
_MAX_TABLE_CHARS = 50_000
_MAX_FAILURES = 50
_REASONS = ("failure", "error", "skipped")


def main() -> None:
    """Print the page about the folder that the command line names."""
    print("\n".join(page(Path(sys.argv[1]))))


def page(folder: Path) -> Iterator[str]:
    """Yield the lines of the page."""
    suites = [suite for file in sorted(folder.glob("junit/*.xml")) for suite in ElementTree.parse(file).getroot()]
    yield "# Multipath TCP in the lab"
    yield ""
    if not suites:
        yield "No test ran. Tests are what `selftests` and `scenarios` name."
    else:
        yield from _counts(suites)
        yield from _failures(suites)
    for file in sorted(folder.glob("results/*/table.md")):
        text = file.read_text().strip()
        yield ""
        yield text if len(text) <= _MAX_TABLE_CHARS else f"The table is too long for this page: {file.name} has it."
    commands = folder / "commands.txt"
    if commands.is_file() and (text := commands.read_text().strip()):
        yield from ("", "The commands, which do the same on any machine:", "", "```sh", text, "```")


def _counts(suites: list[ElementTree.Element]) -> Iterator[str]:
    yield "| suite | passed | failed | skipped |"
    yield "| --- | ---: | ---: | ---: |"
    for suite in suites:
        counts = {kind: len(suite.findall(f"testcase/{kind}")) for kind in _REASONS}
        failed = counts["failure"] + counts["error"]
        passed = len(suite.findall("testcase")) - failed - counts["skipped"]
        yield f"| {_escape(suite.get('name', ''))} | {passed} | {failed} | {counts['skipped']} |"


def _failures(suites: list[ElementTree.Element]) -> Iterator[str]:
    failures = [
        f"- **{_escape(suite.get('name', ''))}: {_escape(case.get('name', ''))}**: {_escape(reason.get('message', ''))}"
        for suite in suites
        for case in suite.findall("testcase")
        for reason in (*case.findall("failure"), *case.findall("error"))
    ]
    if failures:
        yield from ("", "## Failed", "", *failures[:_MAX_FAILURES])
    if len(failures) > _MAX_FAILURES:
        yield f"- and {len(failures) - _MAX_FAILURES} more"


def _escape(text: str) -> str:
    """Return a text in one line that Markdown shows as it is."""
    escaped = "".join(f"\\{char}" if char in "\\`*_|<>[]" else char for char in text)
    return " ".join(escaped.split())


if __name__ == "__main__":
    main()
