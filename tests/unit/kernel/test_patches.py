# SPDX-License-Identifier: MIT
"""Kept trees with other patches or a changed git tree: make compiles what they touch, and nothing else.

make is a stand-in that "compiles" each .c file that is newer than its object, as Kbuild does.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.kernel.test_build import INPUTS, tree  # noqa: F401  a fixture

from mptcplab.errors import LabError
from mptcplab.kernel.build import BuildOptions, build_kernel, find_tree
from mptcplab.kernel.cache import KernelBuild
from mptcplab.kernel.data import NamedFile
from mptcplab.kernel.patching import touched_files

MAKE = """\
#!/bin/sh
case "$*" in
  *tinyconfig) : > .config ;;
  *olddefconfig) printf "CONFIG_NET=y\\n" > .config ;;
  *kernelrelease) echo 7.2.12-mptcplab ;;
  *linux)
    for source in $(find . -name "*.c" -not -path "./.mptcplab/*"); do
      object=${source%.c}.o
      if [ ! -e "$object" ] || [ "$source" -nt "$object" ]; then
        echo "  CC      ${object#./}"
        cp "$source" "$object"
      fi
    done
    cat $(find . -name "*.c" -not -path "./.mptcplab/*" | sort | sed "s/c$/o/") > linux
    printf map > System.map ;;
esac
"""
SPEED = NamedFile("given/01-speed.patch", b"--- a/net/a.c\n+++ b/net/a.c\n@@ -1 +1 @@\n-int a;\n+int speed;\n")
SIZE = NamedFile("given/01-size.patch", b"--- a/net/b.c\n+++ b/net/b.c\n@@ -1 +1 @@\n-int b;\n+int size;\n")
NEW = NamedFile("given/01-new.patch", b"--- /dev/null\n+++ b/net/new.c\n@@ -0,0 +1 @@\n+int n;\n")
WRONG = NamedFile("given/01-wrong.patch", b"--- a/net/a.c\n+++ b/net/a.c\n@@ -1 +1 @@\n-int q;\n+int r;\n")

Builder = Callable[..., tuple[KernelBuild, set[str]]]


@pytest.fixture
def build(tree: Path, tmp_path: Path) -> Builder:  # noqa: F811
    """Build with patches in a kept tree; return the kernel and the names of the files that were compiled."""
    (tmp_path / "bin" / "make").write_text(MAKE)
    (tree / "net").mkdir()
    for name in ("a", "b", "c"):
        (tree / "net" / f"{name}.c").write_text(f"int {name};\n")

    def build_once(*patches: NamedFile, keep: bool = True) -> tuple[KernelBuild, set[str]]:
        inputs = replace(INPUTS, patches=(*INPUTS.patches, *patches))
        options = BuildOptions(keep_tree=keep)
        kernel = build_kernel(source=tree, options=options, cache=tmp_path / "cache", inputs=inputs)
        return kernel, _compiled_files((kernel.path / "build.log").read_text())

    return build_once


def _compiled_files(log: str) -> set[str]:
    return set(re.findall(r"^  CC +(\S+)", log, re.MULTILINE))


def test_another_patch_compiles_what_it_touches(build: Builder, tmp_path: Path) -> None:
    first, compiled = build()
    assert compiled == {"net/a.o", "net/b.o", "net/c.o", "net/mptcp/lia.o"}
    second, compiled = build(SPEED)
    assert compiled == {"net/a.o"}
    # The old patch is taken back.
    third, compiled = build(SIZE)
    assert compiled == {"net/a.o", "net/b.o"}
    assert first.tree == second.tree == third.tree
    # A new tree gives the same kernel.
    from_scratch, _ = build(SIZE, SPEED)
    place = find_tree(from_scratch, tmp_path / "cache")
    assert place is not None
    for name, text in (("a", "speed"), ("b", "size"), ("c", "c")):
        assert (place / "net" / f"{name}.c").read_text() == f"int {text};\n"


def test_a_kernel_from_a_kept_tree_is_the_one_from_a_new_tree(build: Builder, tree: Path, tmp_path: Path) -> None:  # noqa: F811
    build(SPEED)
    kept, _ = build(NEW)
    inputs = replace(INPUTS, patches=(*INPUTS.patches, NEW))
    fresh = build_kernel(source=tree, cache=tmp_path / "other", inputs=inputs)
    assert (kept.key, kept.executable.read_bytes()) == (fresh.key, fresh.executable.read_bytes())


def test_files_that_a_patch_added_go_with_it(build: Builder, tmp_path: Path) -> None:
    kernel, _ = build(NEW)
    place = find_tree(kernel, tmp_path / "cache")
    assert place is not None
    assert (place / "net" / "new.c").exists()
    build(SPEED)
    assert not (place / "net" / "new.c").exists()


def test_a_patch_that_does_not_apply_changes_nothing(build: Builder) -> None:
    build(SPEED)
    with pytest.raises(LabError, match=r"given/01-wrong\.patch does not apply"):
        build(WRONG)
    _, compiled = build(SIZE)
    assert compiled == {"net/a.o", "net/b.o"}


def test_changes_of_a_git_tree_are_copied(build: Builder, tree: Path, tmp_path: Path) -> None:  # noqa: F811
    subprocess.run(["git", "init", "--quiet", str(tree)], check=True)
    (tree / ".gitignore").write_text("*.o\n")
    first, _ = build(SPEED)
    (tree / "net" / "c.c").write_text("int other;\n")
    (tree / "net" / "b.c").unlink()
    (tree / "net" / "d.c").write_text("int d;\n")
    (tree / "net" / "made.o").touch()
    second, compiled = build(SPEED, keep=False)
    assert compiled == {"net/c.o", "net/d.o"}
    assert first.key != second.key
    place = find_tree(second, tmp_path / "cache")
    assert place is not None
    assert sorted(path.name for path in (place / "net").glob("*.c")) == ["a.c", "c.c", "d.c"]
    assert not (place / "net" / "made.o").exists()


def test_a_changed_file_of_a_git_tree_is_patched_again(build: Builder, tree: Path, tmp_path: Path) -> None:  # noqa: F811
    subprocess.run(["git", "init", "--quiet", str(tree)], check=True)
    build(SPEED)
    (tree / "net" / "a.c").write_text("int a;\nint more;\n")
    patched, compiled = build(SPEED)
    assert compiled == {"net/a.o"}
    place = find_tree(patched, tmp_path / "cache")
    assert place is not None
    assert (place / "net" / "a.c").read_text() == "int speed;\nint more;\n"
    build()
    assert (place / "net" / "a.c").read_text() == "int a;\nint more;\n"


def test_the_record_names_the_patches_of_the_tree(build: Builder, tmp_path: Path) -> None:
    kernel, _ = build(SPEED)
    record = json.loads((tmp_path / "cache" / "trees" / f"{kernel.tree}.json").read_text())
    assert [name for name, _ in record["patches"]] == ["0001-x.patch", SPEED.name]
    assert record["patched"] == ["file", "net/a.c"]


def test_files_outside_the_tree_are_not_touched() -> None:
    text = b"--- a/../../etc/passwd\n+++ /dev/null\ndiff --git a/x.c b/y.c\nrename from x.c\nrename to y.c\n"
    assert touched_files([NamedFile("p", text)]) == {"x.c", "y.c"}
