# SPDX-License-Identifier: MIT
"""Write the HTML page about a results folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mptcplab import pages
from mptcplab.errors import InputError, reason

_SUFFIXES = (".html", ".htm")


@dataclass(frozen=True)
class WrittenReport:
    """An HTML page in ``file``, of some ``bytes``.

    ``warnings`` is the number of warnings about the runs. ``scoreboard`` summarizes studies, and is None for a page
    about an experiment.
    """

    file: Path
    bytes: int
    title: str
    warnings: int
    scoreboard: str | None = None

    @property
    def document(self) -> dict[str, Any]:
        """The JSON document of ``mptcplab report --json``."""
        entry = {"file": str(self.file), "bytes": self.bytes, "title": self.title, "warnings": self.warnings}
        return entry | ({} if self.scoreboard is None else {"scoreboard": self.scoreboard})


def write_report(folder: str | Path, out: str | Path | None = None) -> WrittenReport:
    """Write one HTML page about the results in ``folder``: warnings, network, tables, figures. Nothing is executed.

    ``folder`` is the results folder of :func:`mptcplab.api.run`, of :func:`mptcplab.api.reproduce`, or of one study in
    it. ``out`` is the file to write, by default report.html in the folder.

    :raises InputError: if ``folder`` has no recordings, or ``out`` does not end with .html or cannot be written.
    :raises LabError: if a file in ``folder`` is damaged.
    """
    file = Path(folder) / "report.html" if out is None else Path(out)
    if file.suffix.lower() not in _SUFFIXES:
        raise InputError(
            f"{file} does not end with {_SUFFIXES[0]}, and a report is a page of HTML",
            hint=f"write --out {file.with_suffix(_SUFFIXES[0])}; a browser prints it as PDF",
        )
    try:
        page = pages.write_report(Path(folder), file)
    except OSError as error:
        raise InputError(f"{file} cannot be written: {reason(error)}", hint="name another file with --out") from error
    warnings = sum(notice.level == "warning" for section in page.experiments for notice in section.notices)
    board = page.board.summary if page.board else None
    return WrittenReport(file, file.stat().st_size, page.title, warnings, board)
