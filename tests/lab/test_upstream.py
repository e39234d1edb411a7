# SPDX-License-Identifier: MIT
"""The series of kernel/upstream fit Linux 7.2, and their tests find on the lab kernel what it does not have."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from mptcplab.cache import cache_root
from mptcplab.kernel.debian import debian_source
from mptcplab.kernel.progress import SilentProgress

from .bench import mptcplab
from .upstream_kernels import (
    ALONE,
    EXPECTED,
    FOLDER,
    WINDOW,
    beyond_window,
    passed,
    patches,
    selftest_command,
    window_command,
)


@pytest.fixture(scope="module")
def touched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree with the files of Linux 7.2 that the patches change."""
    folder = tmp_path_factory.mktemp("linux")
    with (folder / "log").open("w") as log:
        source = debian_source("7.2", cache_root(), progress=SilentProgress(), log=log)
    texts = [file.read_text() for file in patches()]
    changed, made = (
        {name for text in texts for name in re.findall(pattern, text, re.MULTILINE)}
        for pattern in (r"^--- a/(.+)$", r"^--- /dev/null\n\+\+\+ b/(.+)$")
    )
    wanted = [f"*/{name}" for name in sorted(changed - made)]
    assert wanted, "the patches change something"
    command = ["tar", "-xf", str(source.path), "-C", str(folder), "--strip-components=1", "--wildcards", *wanted]
    subprocess.run(command, check=True, timeout=300)
    return folder


@pytest.mark.parametrize("series", sorted(path.name for path in FOLDER.iterdir() if path.is_dir()))
def test_a_series_applies(touched: Path, series: str) -> None:
    """Each by itself, without fuzz; the ones applied are taken back, so that the next begins with Linux."""
    mine = [file for file in patches() if file.parent.name == series]
    assert len(mine) == 1 if series == ALONE else len(mine) > 1, "a fix and its test"
    command = ["patch", "-p1", "--force", "--fuzz=0", "--no-backup-if-mismatch", "-d", str(touched), "-i"]
    for options, files in (([], mine), (["-R"], mine[::-1])):
        for file in files:
            done = subprocess.run([*command, str(file), *options], capture_output=True, text=True, check=False)
            assert (done.returncode, "offset" in done.stdout) == (0, False), done.stdout


def test_the_lab_kernel_fails_what_it_has_no_patch_for() -> None:
    """So the tests can fail; that they pass with the patches is shown by tests.lab.upstream_kernels."""
    done = mptcplab(*selftest_command("7.2"), timeout=1200)
    found = passed(done.stdout)
    print(found)
    assert found == {test: good for test, good in EXPECTED["lab"].items() if test != WINDOW}, done.stderr
    assert done.returncode == 1


def test_the_lab_kernel_sends_beyond_the_window_as_mainline_does(tmp_path: Path) -> None:
    """That it does not with `--fix window` is shown by tests.lab.upstream_kernels."""
    done = mptcplab(*window_command("7.2", tmp_path / "out"), timeout=600)
    assert done.returncode == 0, done.stderr
    dropped = beyond_window(tmp_path / "out")
    assert (dropped == 0) == EXPECTED["lab"][WINDOW], dropped
