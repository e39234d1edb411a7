# SPDX-License-Identifier: MIT
"""The series of kernel/upstream fit Linux 7.2, and their tests find on the lab kernel what it does not have."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from tests.lab.bench import mptcplab
from tests.lab.upstream_kernels import (
    ALONE,
    EXPECTED,
    FOLDER,
    LAB_FIX,
    STALE,
    WINDOW,
    beyond_window,
    compile_program,
    hides_replaced,
    parse_results,
    patches,
    program_headers,
    reverse_patch,
    selftest_command,
    unpack_source,
    window_command,
)


@pytest.fixture(scope="module")
def sparse_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree with the files of Linux 7.2 that the patches change, and the headers of map_replace."""
    folder = tmp_path_factory.mktemp("linux")
    texts = [file.read_text() for file in patches()]
    changed, made = (
        {name for text in texts for name in re.findall(pattern, text, re.MULTILINE)}
        for pattern in (r"^--- a/(.+)$", r"^--- /dev/null\n\+\+\+ b/(.+)$")
    )
    wanted = sorted(changed - made)
    assert wanted, "the patches change something"
    unpack_source([*wanted, *program_headers()], folder)
    return folder


def _patch(folder: Path, file: Path, *options: str) -> None:
    """Apply a patch without fuzz and at its lines."""
    command = ["patch", "-p1", "--force", "--fuzz=0", "--no-backup-if-mismatch", "-d", str(folder), "-i", str(file)]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert (done.returncode, "offset" in done.stdout) == (0, False), done.stdout


@pytest.mark.parametrize("series", sorted(path.name for path in FOLDER.iterdir() if path.is_dir()))
def test_a_series_applies(sparse_tree: Path, series: str) -> None:
    """Each by itself, without fuzz; the ones applied are taken back, so that the next begins with Linux."""
    mine = [file for file in patches() if file.parent.name == series]
    assert len(mine) == 1 if series == ALONE else len(mine) > 1, "a fix and its test"
    for options, files in (([], mine), (["-R"], mine[::-1])):
        for file in files:
            _patch(sparse_tree, file, *options)


def test_the_lab_kernel_fails_what_it_has_no_patch_for() -> None:
    """So the tests can fail; that they pass with the patches is shown by tests.lab.upstream_kernels."""
    done = mptcplab(*selftest_command("7.2"), timeout=1200)
    results = parse_results(done.stdout)
    print(results)
    assert results == {test: good for test, good in EXPECTED["lab"].items() if test not in (WINDOW, STALE)}, done.stderr
    assert done.returncode == 1


def test_the_lab_kernel_sends_beyond_the_window_as_mainline_does(tmp_path: Path) -> None:
    """That it does not with `--fix window` is shown by tests.lab.upstream_kernels."""
    done = mptcplab(*window_command("7.2", tmp_path / "out"), timeout=600)
    assert done.returncode == 0, done.stderr
    dropped = beyond_window(tmp_path / "out")
    assert (dropped == 0) == EXPECTED["lab"][WINDOW], dropped


@pytest.mark.parametrize("mode", ["off", "on"])
def test_the_lab_kernel_hides_what_a_mapping_replaces(sparse_tree: Path, mode: str) -> None:
    """With user code in its process or not. That it would not without 0024 is shown by tests.lab.upstream_kernels."""
    assert hides_replaced("7.2", compile_program(sparse_tree), mode) == EXPECTED["lab"][STALE]


def test_the_labs_fix_of_user_mode_linux_can_be_taken_back(sparse_tree: Path, tmp_path: Path) -> None:
    """The plain kernels of tests.lab.upstream_kernels lack it."""
    (tmp_path / "without.patch").write_text(reverse_patch(LAB_FIX.read_text()))
    changed = [sparse_tree / name for name in re.findall(r"^--- a/(.+)$", LAB_FIX.read_text(), re.MULTILINE)]
    before = [file.read_text() for file in changed]
    _patch(sparse_tree, LAB_FIX)
    assert all(file.read_text() != text for file, text in zip(changed, before, strict=True))
    _patch(sparse_tree, tmp_path / "without.patch")
    assert [file.read_text() for file in changed] == before
