# SPDX-License-Identifier: MIT
"""A study's parameters as a table, the sets of values that its tables have, and the text about them in the docs.

For maintainers: ``python -m mptcplab.study.chosen --write docs/studies.md`` rewrites the part of the page between its
two marks; a test compares them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from mptcplab.files import write_text
from mptcplab.report.table import Table
from mptcplab.study.library import SelectedTable, select, study_names
from mptcplab.study.notes import ORIGINS, origin_text
from mptcplab.study.parts import OtherChoice, Parameter, ParameterChoice

_BEGIN, _END = "<!-- chosen: begin -->", "<!-- chosen: end -->"
_NOT_OF_TEST_BED = frozenset(("repeats", "record.interval", "workloads.*.duration"))
_COLUMNS = ("parameter", "value", "in tables", "origin", "the study says", "place in the source", "why")


def parameters_table(tables: Sequence[SelectedTable]) -> Table:
    """Return every parameter of a study with all its values. ``tables`` are all tables of the study."""
    study = tables[0].study
    rows = (
        (
            parameter.name,
            choice.value,
            _describe_tables(choice, parameter.tables),
            origin_text(choice),
            parameter.says,
            parameter.place,
            choice.why,
        )
        for parameter in study.parameters
        for choice in parameter.choices
    )
    return Table.build(f"{study.name}: parameters", _COLUMNS, rows, [sets_text(tables)])


def _describe_tables(choice: ParameterChoice, tables: Sequence[str]) -> str:
    if isinstance(choice, OtherChoice):
        return ", ".join(choice.tables)
    return ", ".join(tables) or "all others"


def sets_of(tables: Sequence[SelectedTable]) -> list[list[str]]:
    """Return the study's own tables, grouped by the set of values that the study does not state.

    The number of repeats, the sampling interval and durations are not values of the test bed.
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for selected in tables:
        if selected.table.is_of_the_source:
            of_test_bed = (
                parameter for parameter in selected.study.parameters if not _NOT_OF_TEST_BED.intersection(parameter.key)
            )
            choices = [parameter.choice(selected.number) for parameter in of_test_bed]
            values = tuple(
                "" if choice.origin == "stated" or choice.departs_from else choice.value for choice in choices
            )
            groups.setdefault(values, []).append(selected.number)
    return list(groups.values())


def sets_text(tables: Sequence[SelectedTable]) -> str:
    """Return a sentence about the number of sets of values, and the tables that have each."""
    groups = sets_of(tables)
    if len(groups) == 1:
        return "All tables of the study use one set of unstated values."
    listed = "; ".join(", ".join(group) for group in groups)
    return f"The tables of the study use {len(groups)} different sets of unstated values: {listed}."


def choices_text() -> str:
    """Return as Markdown every value that a study does not state, by study and origin."""
    return "\n".join(line for name in study_names() for line in _study_lines(select(name)))


def _study_lines(tables: Sequence[SelectedTable]) -> Iterator[str]:
    study = tables[0].study
    yield f"**`{study.name}`.** {sets_text(tables)}"
    yield ""
    choices = [(parameter, choice) for parameter in study.parameters for choice in parameter.choices]
    departing = [pair for pair in choices if pair[1].departs_from]
    if departing:
        yield "Stated, and not followed:"
        yield ""
        for parameter, choice in departing:
            value = f"`{choice.value}`{_tables_text(parameter, choice)} in place of {choice.departs_from}"
            yield f"- {parameter.name}: {value}, {origin_text(choice)}. {choice.why}"
        yield ""
    for origin in ("fitted", "after", "before"):
        of_origin = [pair for pair in choices if pair[1].origin == origin and not pair[1].departs_from]
        if of_origin:
            yield f"{ORIGINS[origin].capitalize()}:"
            yield ""
        for parameter, choice in of_origin:
            to = origin_text(choice).removeprefix(ORIGINS[origin]).strip()
            value = f"`{choice.value}`{_tables_text(parameter, choice)}{f', {to}' if to else ''}"
            yield f"- {parameter.name}: {value}. {choice.why}"
        if of_origin:
            yield ""


def _tables_text(parameter: Parameter, choice: ParameterChoice) -> str:
    return f" in {_describe_tables(choice, parameter.tables)}" if isinstance(choice, OtherChoice) else ""


def replace_part(page: str) -> str:
    """Return the page with the part between its marks regenerated."""
    before, _, rest = page.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}\n\n{choices_text()}\n{_END}{after}"


def main(arguments: list[str]) -> None:
    """Rewrite the part of the page."""
    if arguments[:1] != ["--write"] or len(arguments) != 2:
        sys.exit("usage: python -m mptcplab.study.chosen --write docs/studies.md")
    file = Path(arguments[1])
    write_text(file, replace_part(file.read_text()))


if __name__ == "__main__":
    main(sys.argv[1:])
