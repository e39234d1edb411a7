# SPDX-License-Identifier: MIT
"""`git bisect run` with examples/bisect.sh, in a repository made for it and with a stand-in for mptcplab.

The stand-in builds of a commit a kernel that has the commit's speed, and knows the one of the distribution, which is
what `kernel path` prints whatever was built. tests/lab/examples/test_bisect.py runs real kernels.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "examples" / "bisect.sh"
STAND_IN = """#!/bin/sh
case "$1 $2" in
"kernel build") mkdir -p "$CACHE/$(cat speed)" && echo "Linux 7.2.1: $CACHE/$(cat speed)/linux" ;;
"kernel path") echo "$CACHE/100/linux" ;;
run*)
	for word; do case $word in kernel=*) kernel=${word#kernel=} ;; esac; out=$word; done
	echo "$kernel" >>"$CACHE/ran"
	mkdir -p "$out" && basename "$(dirname "$kernel")" >"$out/speed" ;;
compare*)
	case "$*" in *uncertain*) [ "$(cat "$CACHE/certain")" = yes ]; exit ;; esac
	[ "$(cat "$2/speed")" = "$(cat "$3/speed")" ] ;;
esac
"""
_SPEEDS = ("100", "100", "100", "90", "90", "90")


def _git(folder: Path, *words: str, path: str = "") -> subprocess.CompletedProcess[str]:
    names = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {**os.environ, **names, "PATH": f"{path}:{os.environ['PATH']}", "CACHE": str(folder.parent / "cache")}
    command = ["git", "-c", "advice.detachedHead=false", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)


@pytest.fixture
def linux(tmp_path: Path) -> Path:
    """A repository of six commits, the fourth of which made it slower."""
    folder = tmp_path / "linux"
    folder.mkdir()
    for name in ("bin", "cache", "good"):
        (tmp_path / name).mkdir()
    (tmp_path / "bin" / "mptcplab").write_text(STAND_IN)
    (tmp_path / "bin" / "mptcplab").chmod(0o755)
    (tmp_path / "cache" / "certain").write_text("yes")
    (tmp_path / "good" / "speed").write_text("100\n")
    _git(folder, "init", "--quiet")
    for number, speed in enumerate(_SPEEDS):
        (folder / "speed").write_text(speed)
        (folder / "number").write_text(str(number))
        _git(folder, "add", ".")
        _git(folder, "commit", "--quiet", "-m", f"commit {number}")
    started = _git(folder, "bisect", "start", "HEAD", "HEAD~5")
    assert started.returncode == 0, started.stderr
    return folder


def _bisect(linux: Path) -> subprocess.CompletedProcess[str]:
    good = str(linux.parent / "good")
    return _git(linux, "bisect", "run", str(SCRIPT), "x.toml", good, path=str(linux.parent / "bin"))


def test_it_finds_the_commit_with_the_kernels_that_it_built(linux: Path) -> None:
    done = _bisect(linux)
    assert done.returncode == 0, done.stdout + done.stderr
    match = re.search(r"is the first bad commit.*?commit (\d)$", done.stdout, re.DOTALL | re.MULTILINE)
    assert match is not None, done.stdout
    assert match[1] == "3", done.stdout
    ran = (linux.parent / "cache" / "ran").read_text().split()
    assert str(linux.parent / "cache" / "90" / "linux") in ran, "not only the distribution's kernel"
    assert all(f"tested {kernel}" in done.stdout for kernel in ran)


def test_repeats_that_could_miss_the_change_end_it(linux: Path) -> None:
    """A step of which nothing is known is not a good one."""
    (linux.parent / "cache" / "certain").write_text("no")
    done = _bisect(linux)
    assert done.returncode != 0
    assert "could have missed a change of 1 %" in done.stderr
    assert "first bad commit" not in done.stdout


def test_no_page_looks_for_the_built_kernel_by_its_version() -> None:
    """`kernel path 7.2` after `build --source .` is the distribution's kernel, at every step alike."""
    blocks = [
        (file.name, block)
        for file in [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
        for block in re.findall(r"^```\w*\n(.*?)^```$", file.read_text(), re.MULTILINE | re.DOTALL)
        if "bisect run" in block
    ]
    assert {name for name, _ in blocks} == {"kernel-developers.md"}
    for name, block in blocks:
        assert "kernel path" not in block, name
        assert "bisect.sh" in block or "${k#*: }" in block, name
