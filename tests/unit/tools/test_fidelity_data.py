# SPDX-License-Identifier: MIT
"""The archive of a release with all rows of the comparison of engines (tools/release/fidelity.py)."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest
from tools.docs.making import pages
from tools.docs.making.data import make_rows
from tools.release import fidelity
from validation.fidelity.store import COMMON, FOLDER

from mptcplab.errors import LabError
from mptcplab.packs.archive import write_archive

_VERSION = "0.2.0"
_NAME = "mptcplab-fidelity-0.2.0"


@pytest.fixture(scope="module")
def archive() -> bytes:
    return fidelity.build_archive(_VERSION)


def _rewrite(archive: bytes, file: Path, member: str, old: str, new: str) -> Path:
    """Write an archive to a file with a text replaced in one member, and return the file."""
    file.write_bytes(archive)
    with zipfile.ZipFile(file) as opened:
        members = {name: opened.read(name) for name in opened.namelist()}
    name = f"{_NAME}/{member}"
    assert old.encode() in members[name]
    members[name] = members[name].replace(old.encode(), new.encode(), 1)
    file.write_bytes(write_archive(members))
    return file


def test_the_archive_has_all_rows_and_what_they_are_made_from(archive: bytes, tmp_path: Path) -> None:
    file = tmp_path / "data.zip"
    file.write_bytes(archive)
    assert fidelity.check_archive(file, _NAME) == sum(len(rows) - 1 for rows in make_rows().values()) > 3000
    names = set(zipfile.ZipFile(file).namelist())
    assert {f"{_NAME}/{name}" for name in ("README.md", "LICENSE", "rows/fidelity-slower.csv")} <= names
    measured = {name for name in names if name.startswith(f"{_NAME}/measured/")}
    assert len(measured) == sum(entry.is_file() for entry in FOLDER.rglob("*"))


def test_the_archive_has_the_same_bytes_again(archive: bytes) -> None:
    assert fidelity.build_archive(_VERSION) == archive


def test_its_readme_names_version_and_kernels_and_links_nowhere(archive: bytes, tmp_path: Path) -> None:
    (tmp_path / "data.zip").write_bytes(archive)
    text = zipfile.ZipFile(tmp_path / "data.zip").read(f"{_NAME}/README.md").decode()
    assert text.startswith(f"# mptcplab {_VERSION}: ")
    assert "](" not in text
    assert re.findall(r"^## (.+)", text, re.M) == ["The rows", "What was measured", "The kernels"]
    assert "| 6.1.0-50-amd64, HZ 250; a clock that counts instructions |" in text


@pytest.mark.parametrize(
    ("member", "old", "new", "message"),
    [("rows/fidelity-chance.csv", "\n", "\ntwo-paths,bulk\n", "has a row with other cells than its head"),
     ("rows/fidelity-chance.csv", "\n", "\n" + "," * 7 + "\n", r"fidelity-chance.csv has \d+ rows in place of \d+"),
     ("rows/fidelity-goodput.csv", " ?", " !", r"the rows have .*, and docs/fidelity\.md "),
     ("measured/two-paths.json", '"bulk"', '"flow"', "has other measurements than"),
     ("measured/two-paths.json", "{", "", r"two-paths\.json is damaged"),
     (f"measured/{COMMON}", '"no link has a rate"', '""', "has other measurements than")],
)  # fmt: skip
def test_an_archive_that_differs_is_refused(
    member: str, old: str, new: str, message: str, archive: bytes, tmp_path: Path
) -> None:
    with pytest.raises(LabError, match=message):
        fidelity.check_archive(_rewrite(archive, tmp_path / "data.zip", member, old, new), _NAME)


def test_a_missing_table_is_named() -> None:
    tables = {name: rows for name, rows in make_rows().items() if name != "fidelity-forms"}
    with pytest.raises(LabError, match=r"fidelity-forms\.csv has 0 rows in place of"):
        fidelity.check_rows(tables)


def test_totals_of_a_page_that_was_not_written_again_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (pages.ROOT / "docs" / "fidelity.md").read_text()
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    page = pages.Page(tmp_path / "fidelity.md")
    page.file.write_text(re.sub(r"^\| local \| \d+", "| local | 1", text, flags=re.M))
    with pytest.raises(LabError, match="local: the rows have"):
        fidelity.check_totals(make_rows(), page)
