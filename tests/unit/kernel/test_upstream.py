# SPDX-License-Identifier: MIT
"""The series in kernel/upstream have the form that maintainers ask for; whether they fit Linux is a test of the lab."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

KERNEL = Path(__file__).resolve().parents[3] / "kernel"
SERIES = sorted(path for path in (KERNEL / "upstream").iterdir() if path.is_dir())
PATCHES = [file for folder in SERIES for file in sorted(folder.glob("*.patch")) if not file.name.startswith("0000-")]
#: A fix by itself. Its test is a run: tests.lab.upstream_kernels.
ALONE = "mptcp-window"
#: The trees of the other series, in their subjects. The maintainers of User-Mode Linux name none.
TREES = {"mptcp": "mptcp-net ", "tcp": "net ", "um": ""}
_SUBJECT = re.compile(r"^Subject: \[PATCH ((?:net |mptcp-net )?)(\d)/(\d)\] (.+)$", re.MULTILINE)
_FIXES = re.compile(r'^Fixes: [0-9a-f]{12} \(".+"\)$', re.MULTILINE)
#: The patches of the lab's kernel that are fixes of mainline, their forms for mainline, how many lines both have, and
#: the lines that mainline's alone has. The lab kernel has one CPU.
SAME = (
    ("0008-mptcp-data-fin-with-old-data.patch", "mptcp/0001-*.patch", 4, ()),
    (
        "7.2/0024-um-tables-in-place-of-cleared-ones.patch",
        "um/0001-*.patch",
        40,
        ("+\t/* As in pmd_install(), this must be visible before the table is. */", "+\tsmp_wmb();"),
    ),
)


def _changes(text: str) -> list[str]:
    """Return the lines that a patch adds and removes, but for empty ones, with the file before them."""
    lines = text.partition("\n---\n")[2].splitlines()
    return [line for line in lines if re.match(r"\+\+\+ b/|[+-](?![+-]{2}).", line)]


def _fixes_something(text: str) -> bool:
    return "+++ b/net/" in text or "+++ b/arch/" in text


@pytest.mark.parametrize(
    "folder", [series for series in SERIES if series.name != ALONE], ids=lambda folder: folder.name
)
def test_a_series_is_complete(folder: Path) -> None:
    files = sorted(folder.glob("*.patch"))
    subjects = [_SUBJECT.search(file.read_text()) for file in files]
    numbers = [(subject[1], int(subject[2]), int(subject[3])) for subject in subjects if subject]
    last = len(files) - 1
    assert numbers == [(TREES[folder.name], number, last) for number in range(last + 1)], files
    cover = files[0].read_text()
    assert "***" not in cover, "the cover letter is written"
    titles = [text for text in (file.read_text() for file in files[1:]) if _fixes_something(text)]
    tests = [text for text in (file.read_text() for file in files[1:]) if "/testing/selftests/" in text]
    assert len(titles) == len(tests) == last / 2, "every fix is followed by its test"


def test_a_patch_by_itself_has_no_number_and_no_cover_letter() -> None:
    (file,) = (KERNEL / "upstream" / ALONE).glob("*.patch")
    assert "\nSubject: [PATCH mptcp-net] mptcp: " in file.read_text()


@pytest.mark.parametrize("file", PATCHES, ids=lambda file: f"{file.parent.name}/{file.name[:4]}")
def test_a_patch_is_signed_and_a_fix_names_what_it_fixes(file: Path) -> None:
    text = file.read_text()
    sender = re.search(r"^From: (.+?)\n(?=Date: )", text, re.MULTILINE | re.DOTALL)
    assert sender, text[:300]
    assert f"\nSigned-off-by: {' '.join(sender[1].split())}\n" in text
    assert len(_FIXES.findall(text)) == (1 if _fixes_something(text) else 0)
    assert max(len(line) for line in text.partition("\n---\n")[0].splitlines() if ": " not in line[:20]) <= 75


@pytest.mark.parametrize(("ours", "theirs", "count", "alone"), SAME, ids=("0008", "0024"))
def test_the_labs_fix_is_the_one_for_mainline(ours: str, theirs: str, count: int, alone: tuple[str, ...]) -> None:
    (file,) = (KERNEL / "upstream").glob(theirs)
    lab, mainline = (_changes(path.read_text()) for path in (KERNEL / "patches" / ours, file))
    assert [line for line in mainline if line not in alone] == lab, file.name
    assert (len(lab), len(mainline)) == (count, count + len(alone)), lab


def test_no_kernel_is_built_with_them() -> None:
    """They are for mainline. A kernel has them when `--fix` or `--patch` names them."""
    names = {file.name for file in PATCHES}
    assert not names & {file.name for file in (KERNEL / "patches").rglob("*.patch")}
