# SPDX-License-Identifier: MIT
"""The contents of a report as plain data, made from results and rendered as HTML elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from mptcplab.report.table import Table
from mptcplab.report.topology import Picture


@dataclass(frozen=True)
class Notice:
    """A message above the results.

    A ``warning`` may invalidate a result, a ``note`` limits what it shows. ``where`` names the rows or runs that it is
    about; ``command`` may fix it.
    """

    level: Literal["warning", "note"]
    text: str
    where: tuple[str, ...] = ()
    command: str = ""


@dataclass(frozen=True)
class Drawing:
    """One interactive figure: its heading, its caption, and the data from which the page's script draws it.

    ``choices`` are the selectors above it: a name and the options.
    """

    kind: Literal["sweep", "lines", "timeline", "agreement", "beds"]
    title: str
    caption: str
    data: dict[str, Any]
    panels: tuple[str, ...]
    choices: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True)
class ReportCommand:
    """A command line, and the thing that it runs."""

    about: str
    line: str


@dataclass(frozen=True)
class RunLine:
    """One run in the list of all runs."""

    label: str
    seed: int
    goodput: str
    identity: str
    command: str


@dataclass(frozen=True)
class Repeat:
    """Commands and files that repeat the measurements. ``files`` are names and texts."""

    commands: tuple[ReportCommand, ...]
    seeds: str
    files: tuple[tuple[str, str], ...]
    runs: tuple[RunLine, ...]
    runs_left_out: int = 0


@dataclass(frozen=True)
class Fact:
    """One entry of a sheet. ``link`` is the anchor of its target, ``items`` are listed below its text."""

    name: str
    text: str
    link: str = ""
    items: tuple[str, ...] = ()


@dataclass(frozen=True)
class FactSheet:
    """All facts about one published value or one claim."""

    anchor: str
    title: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class ExperimentSection:
    """One experiment of a report. ``network`` has the tables of the counters of its links and hosts.

    ``changes`` are the keys that the command line set: title and question are the file's, without them.
    """

    anchor: str
    title: str
    question: str
    notices: tuple[Notice, ...]
    pictures: tuple[Picture, ...]
    workloads: tuple[str, ...]
    tables: tuple[Table, ...]
    drawings: tuple[Drawing, ...]
    repeat: Repeat
    provenance: tuple[tuple[str, tuple[str, ...]], ...]
    sheets: tuple[FactSheet, ...] = ()
    network: tuple[Table, ...] = ()
    changes: tuple[str, ...] = ()
    times: frozenset[str] = frozenset()
    """The kinds of clocks of its runs, see :attr:`mptcplab.metrics.rows.RunResult.time`."""

    @property
    def swept(self) -> bool:
        """True if a link's values differ between points."""
        return any(picture.swept for picture in self.pictures)


@dataclass(frozen=True)
class ScoreboardView:
    """The scoreboard of several studies, by study and by table.

    Counts in ``totals`` and ``table`` link to ``values``, which lists every value and every claim by class and links to
    their sheets; names of tables link to their sections. ``about`` describes each study and its test bed; ``left_out``
    says what is not on the page, and ``commands`` show it.
    """

    totals: Table
    table: Table
    summary: str
    values: tuple[Table, ...]
    about: tuple[tuple[str, str], ...]
    left_out: str
    commands: tuple[str, ...]


@dataclass(frozen=True)
class ReportPage:
    """One page. ``beds`` are tables about a study over possible test beds."""

    title: str
    experiments: tuple[ExperimentSection, ...]
    board: ScoreboardView | None = None
    pictures: tuple[Drawing, ...] = ()
    beds: tuple[Table, ...] = ()
    parameters: tuple[Table, ...] = ()

    @property
    def times(self) -> frozenset[str]:
        """The kinds of clocks of all its runs."""
        return frozenset[str]().union(*(experiment.times for experiment in self.experiments))
