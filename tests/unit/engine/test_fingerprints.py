# SPDX-License-Identifier: MIT
"""Programs and libraries are identified by their contents, which are read again if a file changed."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from mptcplab.engine import tools

fingerprint = tools.fingerprint.__wrapped__
libraries = tools.libraries_of.__wrapped__


@pytest.fixture(autouse=True)
def result_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with results, empty. Files count as old at once, so that results are kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(tools, "_SETTLED_NS", -(10**9))
    return tmp_path / "cache/mptcplab/code"


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The command lines of programs that were started."""
    made: list[Any] = []
    run = subprocess.run

    def note_run(command: Any, **options: Any) -> Any:
        made.append(command)
        return run(command, **options)

    monkeypatch.setattr(subprocess, "run", note_run)
    return made


def _replace(file: Path, content: bytes) -> None:
    """Write other content at another time, since clocks of files tick every few milliseconds."""
    time.sleep(0.02)
    file.write_bytes(content)


def test_a_program_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"first")
    first = fingerprint(program)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", lambda file: pytest.fail(f"{file} is read again"))
        assert fingerprint(program) == first


def test_a_program_of_the_same_size_and_time_is_read_again(tmp_path: Path) -> None:
    """As after a restored backup: only the time of the change itself cannot be set."""
    program = tmp_path / "program"
    program.write_bytes(b"first")
    first, stat = fingerprint(program), program.stat()
    _replace(program, b"other")
    os.utime(program, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert program.stat().st_mtime_ns == stat.st_mtime_ns
    assert fingerprint(program) != first


def test_a_link_stands_for_its_program(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text(name)
    link = tmp_path / "link"
    link.symlink_to("one")
    before = fingerprint(link)
    link.unlink()
    link.symlink_to("two")
    assert before == fingerprint(tmp_path / "one") != fingerprint(link) == fingerprint(tmp_path / "two")


def test_a_program_that_has_just_changed_is_not_kept(
    tmp_path: Path, result_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools, "_SETTLED_NS", 10**12)
    (tmp_path / "program").write_text("new")
    fingerprint(tmp_path / "program")
    assert not result_folder.exists()


def test_a_damaged_result_is_made_again(tmp_path: Path, result_folder: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"first")
    first = fingerprint(program)
    (result,) = result_folder.iterdir()
    result.write_text(first[:-1])
    assert fingerprint(program) == first


def test_libraries_are_found_once(calls: list[Any], result_folder: Path) -> None:
    programs = (Path("/usr/bin/env"), Path("/usr/bin/python3"))
    expected = libraries(programs)
    assert any(library.name.startswith("libc.so") for library in expected)
    assert libraries(programs) == expected
    assert len(calls) == 1
    for result in result_folder.iterdir():
        result.write_text("no JSON")
    assert libraries(programs) == expected
    assert len(calls) == 2


def test_libraries_are_found_again_if_a_program_changed(tmp_path: Path, calls: list[Any]) -> None:
    program = tmp_path / "program"
    shutil.copy("/usr/bin/env", program)
    before = libraries((program,))
    _replace(program, Path("/usr/bin/python3").resolve().read_bytes())
    assert libraries((program,)) - before
    assert len(calls) == 2


def test_libraries_are_found_again_if_one_changed(
    tmp_path: Path, calls: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new version of a library can need others."""
    library = tmp_path / "libnew.so"
    library.touch()
    answer = ["printf", f"/bin/program:\\n\\tlibnew.so => {library} (0x1)\\n"]
    run = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda _, **options: run(answer, **options))
    program = (Path("/usr/bin/env"),)
    assert libraries(program) == libraries(program) == {library}
    assert len(calls) == 1
    _replace(library, b"another")
    assert libraries(program) == {library}
    library.unlink()
    libraries(program)
    assert len(calls) == 3
