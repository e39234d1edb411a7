# SPDX-License-Identifier: MIT
"""Kept trees: which files are rewritten, which trees are refused or removed. Nothing is compiled here."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.kernel.test_build import INPUTS, tree  # noqa: F401  a fixture

from mptcplab.errors import LabError
from mptcplab.kernel import steps
from mptcplab.kernel.build import BuildOptions, build_kernel, find_tree
from mptcplab.kernel.cache import KernelBuild, list_kernels
from mptcplab.kernel.data import NamedFile
from mptcplab.kernel.process import CommandKilledError
from mptcplab.kernel.progress import SilentProgress

LIA, HEADER = "net/mptcp/lia.c", "net/mptcp/lia.h"


class RecordedProgress(SilentProgress):
    """Records the stages and warnings of a build."""

    def __init__(self) -> None:
        self.stages: list[str] = []
        self.warnings: list[str] = []

    def stage(self, text: str) -> None:
        self.stages.append(text)

    def warn(self, text: str) -> None:
        self.warnings.append(text)


Builder = Callable[..., tuple[KernelBuild, RecordedProgress]]


@pytest.fixture
def build(tree: Path, tmp_path: Path) -> Builder:  # noqa: F811
    def build_once(*files: tuple[str, str], keep: bool = False) -> tuple[KernelBuild, RecordedProgress]:
        inputs = replace(INPUTS, overlay=tuple(NamedFile(name, text.encode()) for name, text in files))
        progress = RecordedProgress()
        options = BuildOptions(keep_tree=keep)
        cache = tmp_path / "cache"
        kernel = build_kernel(source=tree, options=options, cache=cache, inputs=inputs, progress=progress)
        return kernel, progress

    return build_once


def the_tree(kernel: KernelBuild, tmp_path: Path) -> Path:
    place = find_tree(kernel, tmp_path / "cache")
    assert place is not None
    return place


def test_only_what_changed_is_written(build: Builder, tmp_path: Path) -> None:
    first, _ = build((LIA, "int a;"), (HEADER, "int h;"), keep=True)
    place = the_tree(first, tmp_path)
    for name in (LIA, HEADER, "file", "Makefile"):
        os.utime(place / name, ns=(10**9, 10**9))
    known = place.with_name(f"{place.name}.json")
    contents = json.loads(known.read_text())
    for name in (LIA, HEADER, "file", "Makefile"):
        contents["files"][name][1] = 10**9
    known.write_text(json.dumps(contents))
    second, progress = build((LIA, "int b;"), (HEADER, "int h;"))
    assert second.key != first.key
    assert the_tree(second, tmp_path) == place
    assert (place / LIA).read_text() == "int b;"
    assert (place / LIA).stat().st_mtime_ns > 10**9
    assert {(place / name).stat().st_mtime_ns for name in (HEADER, "file", "Makefile")} == {10**9}
    assert "configuring" not in progress.stages
    assert not any("unpacking" in stage for stage in progress.stages)
    assert len(list_kernels(tmp_path / "cache")) == 2


def test_files_that_went_away_are_deleted(build: Builder, tmp_path: Path) -> None:
    first, _ = build((LIA, "int a;"), (HEADER, "int h;"), keep=True)
    build((LIA, "int a;"))
    place = the_tree(first, tmp_path)
    assert not (place / HEADER).exists()
    assert (place / LIA).exists()


def test_other_options_of_ours_are_configured_again(build: Builder) -> None:
    build(("net/mptcp/Kconfig.lab", "config A"), keep=True)
    _, progress = build(("net/mptcp/Kconfig.lab", "config B"))
    assert "configuring" in progress.stages


def test_other_options_need_another_tree(build: Builder, tree: Path, tmp_path: Path) -> None:  # noqa: F811
    first, _ = build((LIA, "int a;"), keep=True)
    inputs = replace(INPUTS, fragment="CONFIG_NET=y\nCONFIG_MORE=y\n")
    second = build_kernel(source=tree, cache=tmp_path / "cache", inputs=inputs)
    assert find_tree(second, tmp_path / "cache") is None
    assert the_tree(first, tmp_path).is_dir()


@pytest.mark.parametrize("name", [LIA, "file", ".config", "Makefile"])
def test_somebodys_work_is_neither_used_nor_removed(build: Builder, tmp_path: Path, name: str) -> None:
    first, _ = build((LIA, "int a;"), keep=True)
    place = the_tree(first, tmp_path)
    (place / name).write_text("mine")
    with pytest.raises(LabError) as caught:
        build((LIA, "int b;"))
    assert caught.value.message == f"the kept tree {place} was modified: {name} has changed"
    assert f"rm -r {place}" in (caught.value.hint or "")
    assert (place / name).read_text() == "mine"


def test_a_mistake_in_our_file_leaves_the_tree_in_order(build: Builder, tmp_path: Path) -> None:
    first, _ = build((LIA, "int a;"), keep=True)
    place = the_tree(first, tmp_path)
    (place / "fail").touch()
    with pytest.raises(LabError, match="build failed"):
        build((LIA, "int b"))
    (place / "fail").unlink()
    _, progress = build((LIA, "int b;"))
    assert not any("unpacking" in stage for stage in progress.stages)
    assert (place / LIA).read_text() == "int b;"


def test_a_first_build_that_fails_leaves_a_tree_to_go_on_in(build: Builder, tree: Path, tmp_path: Path) -> None:  # noqa: F811
    (tree / "fail").touch()
    with pytest.raises(LabError, match="build failed"):
        build((LIA, "int a"), keep=True)
    (place,) = (path for path in (tmp_path / "cache" / "trees").iterdir() if path.is_dir())
    (place / "fail").unlink()
    contents = json.loads(place.with_name(f"{place.name}.json").read_text())
    del contents["files"]["fail"]
    place.with_name(f"{place.name}.json").write_text(json.dumps(contents))
    _, progress = build((LIA, "int a;"), keep=True)
    assert not any("unpacking" in stage for stage in progress.stages)


@pytest.mark.parametrize(
    "end", [KeyboardInterrupt(), CommandKilledError("make was terminated by signal 9", hint="make")]
)
def test_a_build_that_was_killed_leaves_an_unusable_tree(
    build: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: BaseException
) -> None:
    first, _ = build((LIA, "int a;"), keep=True)
    place = the_tree(first, tmp_path)
    (place / "half.o").touch()

    def raise_end(*_: object, **__: object) -> None:
        raise end

    with monkeypatch.context() as patched:
        patched.setattr(steps, "run_logged", raise_end)
        with pytest.raises(type(end) if isinstance(end, KeyboardInterrupt) else LabError):
            build((LIA, "int b;"))
    _, progress = build((LIA, "int b;"))
    assert any("unpacking" in stage for stage in progress.stages)
    assert not (place / "half.o").exists()
    assert (place / LIA).read_text() == "int b;"


def test_warnings_of_files_left_alone_stay_known(build: Builder) -> None:
    """make compiles only changed files; the entry lists the warnings of all files in the kernel."""
    make = Path(os.environ["PATH"].split(":")[0]) / "make"
    default = make.read_text()
    noisy = default.replace("a.c:1: warning: odd", f"{LIA}:3: warning: odd")
    make.write_text(noisy.replace("  CC      init/main.o", "  CC      net/mptcp/lia.o"))
    first, progress = build((LIA, "int a;"), keep=True)
    assert progress.warnings[-1:] == [f"{LIA}:3: warning: odd"]
    make.write_text(default.replace('echo "a.c:1: warning: odd"', "true"))
    second, progress = build((LIA, "int a;"), (HEADER, "int h;"))
    assert json.loads((second.path / "entry.json").read_text())["warnings"] == [f"{LIA}:3: warning: odd"]
    make.write_text(default.replace("  CC      init/main.o", "  CC      net/mptcp/lia.o").replace("warning:", "note:"))
    third, progress = build((LIA, "int b;"))
    assert json.loads((third.path / "entry.json").read_text())["warnings"] == []
    assert first.tree == second.tree == third.tree
