# SPDX-License-Identifier: MIT
"""What a report says, before it is a page: plain data, made from results and turned into HTML elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from mptcplab.report.table import Table
from mptcplab.report.topology import Picture


@dataclass(frozen=True)
class Notice:
    """Something that a reader has to know before the numbers.

    A ``warning`` may invalidate a result, a ``note`` limits what it says. ``where`` names the rows or runs that it is
    about, ``command`` what mends it.
    """

    level: Literal["warning", "note"]
    text: str
    where: tuple[str, ...] = ()
    command: str = ""


@dataclass(frozen=True)
class Axis:
    """A swept key. ``numbers`` are places of its values on the axis, when all are quantities of one kind.

    ``scale`` "even" means that the values are too unevenly spread for either scale: their places are 0, 1, 2, ...
    """

    key: str
    name: str
    labels: tuple[str, ...]
    numbers: tuple[float, ...] | None
    scale: Literal["linear", "log", "even"] = "linear"

    def to_json(self) -> dict[str, Any]:
        """For the page's script."""
        return {"name": self.name, "labels": self.labels, "numbers": self.numbers, "scale": self.scale}


@dataclass(frozen=True)
class Drawing:
    """One interactive figure: its heading, what it shows, and the data that the page's script draws it from.

    ``choices`` are selectors above it: a name, and the options.
    """

    kind: Literal["sweep", "lines", "timeline", "agreement"]
    title: str
    caption: str
    data: dict[str, Any]
    panels: tuple[str, ...]
    choices: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True)
class Command:
    """A command line and what it does."""

    about: str
    line: str


@dataclass(frozen=True)
class RunLine:
    """One run in the list of all."""

    label: str
    seed: int
    goodput: str
    identity: str
    command: str


@dataclass(frozen=True)
class Repeat:
    """How to measure everything again. ``files`` are names and texts of what is needed."""

    commands: tuple[Command, ...]
    seeds: str
    files: tuple[tuple[str, str], ...]
    runs: tuple[RunLine, ...]
    runs_left_out: int = 0


@dataclass(frozen=True)
class Fact:
    """One line of a sheet. ``link`` is the anchor that it leads to, ``items`` are listed below its text."""

    name: str
    text: str
    link: str = ""
    items: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sheet:
    """All that there is to say of one published value or one claim."""

    anchor: str
    title: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class Experiment:
    """One experiment of a report. ``network`` are tables of what was counted on its links and hosts."""

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
    sheets: tuple[Sheet, ...] = ()
    network: tuple[Table, ...] = ()

    @property
    def swept(self) -> bool:
        """Whether a link's values differ from point to point."""
        return any(picture.swept for picture in self.pictures)


@dataclass(frozen=True)
class ScoreboardView:
    """The scoreboard of several studies, by study and by table.

    Counts in ``totals`` and ``table`` lead to ``values``, which lists every value and every claim by class and leads to
    their sheets; names of tables lead to their sections. ``about`` says what each study is and what it measured on,
    ``left_out`` what is not on the page, and ``commands`` what shows it.
    """

    totals: Table
    table: Table
    summary: str
    values: tuple[Table, ...]
    about: tuple[tuple[str, str], ...]
    left_out: str
    commands: tuple[str, ...]


@dataclass(frozen=True)
class Report:
    """One page."""

    title: str
    experiments: tuple[Experiment, ...]
    board: ScoreboardView | None = None
    pictures: tuple[Drawing, ...] = ()
    parameters: tuple[Table, ...] = ()
