# SPDX-License-Identifier: MIT
"""Unit tests are where docs/tests.md says: in a folder for each room, and for each part of the repository."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
#: Rules for all files, and the C code in kernel/net/mptcp.
OTHERS = {"repository", "coupled", "coupled_v09", "schedulers"}


def _list_misplaced(root: Path) -> list[str]:
    """Return the files of unit tests in a repository that are in no folder, or in a folder without a counterpart."""
    rooms = {path.stem for path in (root / "src" / "mptcplab").iterdir()}
    unit = root / "tests" / "unit"
    misplaced = []
    for file in sorted(path.relative_to(unit) for path in unit.rglob("test_*.py")):
        folder = file.parts[0]
        if len(file.parts) == 1 or not (folder in rooms | OTHERS or (root / folder).is_dir()):
            misplaced.append(str(file))
    return misplaced


def test_every_file_has_its_folder() -> None:
    assert _list_misplaced(ROOT) == []


def test_files_without_a_folder_are_found(tmp_path: Path) -> None:
    package, unit = tmp_path / "src" / "mptcplab", tmp_path / "tests" / "unit"
    for folder in (package / "scenario", tmp_path / "tools", unit / "captures"):
        folder.mkdir(parents=True)
    (package / "units.py").touch()
    right = ("scenario/test_load.py", "units/test_units.py", "tools/radio/test_parts.py", "repository/test_names.py")
    wrong = ("captures/test_files.py", "test_flat.py")
    for name in (*right, *wrong):
        (unit / name).parent.mkdir(parents=True, exist_ok=True)
        (unit / name).touch()
    assert _list_misplaced(tmp_path) == list(wrong)
