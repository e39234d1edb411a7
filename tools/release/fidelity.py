# SPDX-License-Identifier: MIT
"""``python -m tools.release.fidelity``: packs all rows of the comparison of engines, opens the archive, and checks it.

It needs no kernel: the rows are made from what was measured, which is in the checkout.
"""

from __future__ import annotations

import csv
import io
import re
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tools.docs.making.data import make_rows, rows_text
from tools.docs.making.pages import Page, cells_of, table_of
from tools.release.command import ROOT
from tools.release.versions import check_versions
from tools.wheels.command import DIST, run_main
from validation.fidelity.side_tables import AS_IT_IS, ON_SLOWER
from validation.fidelity.store import FOLDER, CommonFacts, read_measurements

from mptcplab.errors import LabError
from mptcplab.files import write_bytes
from mptcplab.packs.archive import write_archive

_README, _LICENCE, _ROWS, _MEASURED = "README.md", "LICENSE", "rows", "measured"
_PAGE, _SUMMARY = ROOT / "docs" / "fidelity.md", "fidelity-summary"
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")
_BUILD_DIGITS = 12
#: The tables and the columns with the goodputs and the shares of each row of the page's summary. Goodputs of slower
#: networks have shorter heads: "slower, %" for "stock 7.2, slower", and "6.1, slower, %" for "stock 6.1, slower".
_SUMMARIZED = {
    **{title: (("fidelity-goodput", title), ("fidelity-shares", title)) for title in AS_IT_IS.values()},
    **{
        title: (("fidelity-slower", f"{title.removeprefix('stock 7.2, ').removeprefix('stock ')}, %"),
                ("fidelity-slower-shares", title))
        for title in ON_SLOWER.values()
    },
}  # fmt: skip
#: Head and rows of a table.
Cells = Sequence[Sequence[str]]


def main() -> None:
    """Write the archive of the present version, and check it."""
    version = check_versions(ROOT)
    name = name_of(version)
    DIST.mkdir(exist_ok=True)
    file = DIST / f"{name}.zip"
    write_bytes(file, build_archive(version))
    count = check_archive(file, name)
    print(f"{file}: {count} rows, with the totals of {_PAGE.relative_to(ROOT)}")


def name_of(version: str) -> str:
    """Return the name of the archive of a version, which is also the folder in it."""
    return f"mptcplab-fidelity-{version}"


def build_archive(version: str) -> bytes:
    """Return the archive, whose bytes depend on its content alone."""
    members = {_README: _write_readme(version).encode(), _LICENCE: (ROOT / "LICENSE").read_bytes()}
    members |= {f"{_ROWS}/{name}.csv": rows_text(rows).encode() for name, rows in make_rows().items()}
    members |= {
        f"{_MEASURED}/{file.relative_to(FOLDER)}": file.read_bytes() for file in FOLDER.rglob("*") if file.is_file()
    }
    return write_archive({f"{name_of(version)}/{name}": content for name, content in members.items()})


def _write_readme(version: str) -> str:
    """Return what is in the archive, how a row reads, and the kernels: the folder's README without its links."""
    _, *sections = re.split(r"^(?=## )", (FOLDER.parent / _README).read_text(), flags=re.M)
    opening = (
        f"# mptcplab {version}: all rows of the comparison of engines\n\n"
        "By how much results of mptcplab's lab differ from those on kernels as Debian ships them. The page\n"
        f'"How true is the lab?" (docs/fidelity.md) of mptcplab {version} says what is compared, and what follows.\n\n'
        f"`{_ROWS}/` has tables for readers, `{_MEASURED}/` what they are made from. The licence is MIT.\n\n"
    )
    kernels = _kernel_table(read_measurements(FOLDER).common)
    closing = "\n## The kernels\n\nOf each side, the build on which most of its results were measured.\n\n"
    return _LINK.sub(r"\1", opening + "".join(sections)) + closing + kernels


def _kernel_table(common: CommonFacts) -> str:
    sides: dict[tuple[str, str], list[str]] = {}
    for side, build in common.kernels.items():
        digest = (build["digest"] or "")[:_BUILD_DIGITS]
        sides.setdefault((build["name"] or "", digest or "not noted"), []).append(f"`{side}`")
    lines = [[name, digest, ", ".join(names)] for (name, digest), names in sides.items()]
    return table_of(["kernel and clock", "build", "sides"], lines)


def check_archive(file: Path, name: str) -> int:
    """Open an archive, compare it with what was measured and with the page, and return the number of its rows.

    :raises LabError: if something is missing, or differs.
    """
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(file) as archive:
            archive.extractall(folder)
        top = Path(folder) / name
        if not (top / _README).exists():
            raise LabError(f"{file} has no {name}/{_README}")
        if read_measurements(top / _MEASURED) != read_measurements(FOLDER):
            raise LabError(f"{file} has other measurements than {FOLDER}")
        tables = {table.stem: read_rows(table) for table in sorted((top / _ROWS).glob("*.csv"))}
    check_rows(tables)
    check_totals(tables, Page(_PAGE))
    return sum(len(rows) - 1 for rows in tables.values())


def read_rows(file: Path) -> Cells:
    """Return head and rows of a file. :raises LabError: if a row has other cells than the head."""
    head, *rows = csv.reader(io.StringIO(file.read_text()))
    if any(len(row) != len(head) for row in rows):
        raise LabError(f"{file.name} has a row with other cells than its head")
    return [head, *rows]


def check_rows(tables: Mapping[str, Cells]) -> None:
    """Check that all rows of all tables are there. :raises LabError: naming the table."""
    expected = make_rows()
    for name in expected.keys() | tables.keys():
        counts = [len(of[name]) - 1 if name in of else 0 for of in (tables, expected)]
        if counts[0] != counts[1]:
            raise LabError(f"{name}.csv has {counts[0]} rows in place of {counts[1]}")


def check_totals(tables: Mapping[str, Cells], page: Page) -> None:
    """Check that the marks of all rows add up to the totals of the page. :raises LabError: naming the side."""
    (block,) = (block for block in page.blocks if block.name == _SUMMARY)
    _, *lines = cells_of(block.text)
    for title, *totals in lines:
        counted = [str(count) for table, column in _SUMMARIZED[title] for count in _count_marks(tables[table], column)]
        if counted != totals:
            raise LabError(f"{title}: the rows have {', '.join(counted)}, and {page.name} {', '.join(totals)}")


def _count_marks(table: Cells, column: str) -> Iterator[int]:
    """Yield the number of differences in a column, and of these how many are inside the margin, outside, and open."""
    head, *rows = table
    marks = [{"!", "?"} & {*row[head.index(column)].split()} for row in rows if row[head.index(column)]]
    yield len(marks)
    for mark in (set[str](), {"!"}, {"?"}):
        yield marks.count(mark)


if __name__ == "__main__":
    run_main(main, name="release")
