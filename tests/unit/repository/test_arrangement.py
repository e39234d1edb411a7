# SPDX-License-Identifier: MIT
"""Tests are where docs/tests.md says: in a folder for each room, and for each part of the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
#: Folders without a counterpart, by the kind of tests. Of unit tests: rules for all files, and the C code in
#: kernel/net/mptcp. Of tests in the lab: what the kernel's MPTCP does, the lab kernel as a machine, and the benchmark;
#: a folder `bench` would hide behind the module `tests.lab.bench`.
OTHERS = {
    "unit": {"repository", "coupled", "coupled_v09", "schedulers"},
    "lab": {"mptcp", "machine", "benchmark"},
}
#: Stands beside the folder of its scenarios, which the documentation links to.
FLAT = {"lab": {"test_reasons.py"}}


def _list_misplaced(root: Path, kind: str) -> list[str]:
    """Return the files of tests in a repository that are in no folder, or in a folder without a counterpart."""
    rooms = {path.stem for path in (root / "src" / "mptcplab").iterdir()}
    tests = root / "tests" / kind
    misplaced = []
    for file in sorted(path.relative_to(tests) for path in tests.rglob("test_*.py")):
        folder = file.parts[0]
        if folder in FLAT.get(kind, ()):
            continue
        if len(file.parts) == 1 or not (folder in rooms | OTHERS[kind] or (root / folder).is_dir()):
            misplaced.append(str(file))
    return misplaced


@pytest.mark.parametrize("kind", OTHERS)
def test_every_file_has_its_folder(kind: str) -> None:
    assert _list_misplaced(ROOT, kind) == []


@pytest.mark.parametrize("kind", OTHERS)
def test_no_folder_without_a_counterpart_is_empty(kind: str) -> None:
    """A folder that is an exception above has tests."""
    assert [
        folder for folder in sorted(OTHERS[kind]) if not list((ROOT / "tests" / kind / folder).glob("test_*.py"))
    ] == []


@pytest.mark.parametrize("kind", OTHERS)
def test_files_without_a_folder_are_found(tmp_path: Path, kind: str) -> None:
    package, tests = tmp_path / "src" / "mptcplab", tmp_path / "tests" / kind
    for folder in (package / "scenario", tmp_path / "tools", tests / "captures"):
        folder.mkdir(parents=True)
    (package / "units.py").touch()
    right = (
        "scenario/test_load.py",
        "units/test_units.py",
        "tools/radio/test_parts.py",
        f"{min(OTHERS[kind])}/test_names.py",
    )
    wrong = ("captures/test_files.py", "test_flat.py")
    for name in (*right, *wrong):
        (tests / name).parent.mkdir(parents=True, exist_ok=True)
        (tests / name).touch()
    assert _list_misplaced(tmp_path, kind) == list(wrong)
