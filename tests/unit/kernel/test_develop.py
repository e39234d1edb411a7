# SPDX-License-Identifier: MIT
"""``kernel build --check`` and ``kernel tree``, with stand-ins for gcc and make: nothing is compiled here."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.unit.kernel.test_build import INPUTS, tree  # noqa: F401  a fixture

from mptcplab.cli.commands.kernel import kernel as command
from mptcplab.errors import Exit, InputError, LabError
from mptcplab.kernel import develop
from mptcplab.kernel.build import BuildOptions
from mptcplab.kernel.cache import list_kernels
from mptcplab.kernel.develop import check_build, write_tree
from mptcplab.kernel.source import local_source, unpack_some

MAIL = b"""From: A Developer <a@example.org>
Subject: [PATCH net-next 1/2] mptcp: send
 in smaller bursts

Why.
---
--- a/file
+++ b/file
@@ -1 +1 @@
-new
+newest
"""


@pytest.fixture
def mail(tmp_path: Path) -> Path:
    """A patch as `git format-patch` writes it, which applies after the one of INPUTS."""
    file = tmp_path / "0001-smaller-bursts.patch"
    file.write_bytes(MAIL)
    return file


@pytest.mark.parametrize("as_tarball", [False, True])
def test_a_check_applies_and_configures_but_compiles_nothing(
    tree: Path,  # noqa: F811
    tmp_path: Path,
    mail: Path,
    as_tarball: bool,
) -> None:
    (tree / "unrelated.c").write_text("int x;")
    source = tree
    if as_tarball:
        source = tmp_path / "linux.tar.gz"
        subprocess.run(["tar", "-czf", str(source), "-C", str(tmp_path), "linux"], check=True)
    cache = tmp_path / "cache"
    checked = check_build(source=source, options=BuildOptions(patches=[mail]), cache=cache, inputs=INPUTS)
    assert checked.to_json() == {
        "version": "7.2",
        "variant": "",
        "patches": ["0001-x.patch", "given/01-0001-smaller-bursts.patch"],
        "lost_options": ["CONFIG_ODD=y"],
    }
    assert list_kernels(cache) == []
    assert not list(cache.rglob("file")), "nothing is left"
    assert (tree / "file").read_text() == "old\n"


def test_only_what_is_named_is_unpacked(tree: Path, tmp_path: Path) -> None:  # noqa: F811
    tarball = tmp_path / "linux.tar.gz"
    subprocess.run(["tar", "-czf", str(tarball), "-C", str(tmp_path), "linux"], check=True)
    for number, path in enumerate((tree, tarball)):
        target = tmp_path / str(number)
        with (tmp_path / "log").open("w") as log:
            unpack_some(local_source(path), target, ["Makefile*", "*/Makefile*", "absent.c"], log=log)
        names = {file.relative_to(target).as_posix() for file in target.rglob("*") if file.is_file()}
        assert names == {"Makefile", "arch/um/Makefile"}


def test_a_tarball_that_cannot_be_read_is_refused(tree: Path, tmp_path: Path) -> None:  # noqa: F811
    source = replace(local_source(tree), path=tmp_path / "broken.tar")
    source.path.write_bytes(b"no archive")
    with (tmp_path / "log").open("w") as log, pytest.raises(InputError, match=r"broken\.tar' cannot be unpacked"):
        unpack_some(source, tmp_path / "target", ["Makefile"], log=log)


@pytest.mark.parametrize(
    ("files", "text"),
    [
        ({"file": "other\n"}, "the patch 0001-x.patch does not apply to this source"),
        ({"net/mptcp/lia.c": "theirs"}, None),
    ],
)
def test_a_check_names_what_does_not_fit(
    tree: Path,  # noqa: F811
    tmp_path: Path,
    files: dict[str, str],
    text: str | None,
) -> None:
    """A file of ours that the source has is only found by a build, which has all of the source."""
    for name, content in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(content)
    if text is None:
        check_build(source=tree, cache=tmp_path / "cache", inputs=INPUTS)
        return
    with pytest.raises(LabError) as caught:
        check_build(source=tree, cache=tmp_path / "cache", inputs=INPUTS)
    assert caught.value.message == text
    assert "the log is" in (caught.value.hint or "")


def _git(tree: Path, *words: str) -> str:  # noqa: F811
    return subprocess.run(["git", *words], cwd=tree, capture_output=True, text=True, check=True).stdout


def test_a_tree_has_a_commit_for_each_patch(
    tree: Path,  # noqa: F811
    tmp_path: Path,
    mail: Path,
) -> None:
    (tree / ".gitignore").write_text("ignored\n")
    (tree / "ignored").write_text("a file of Linux\n")
    place = tmp_path / "new" / "lab"
    made = write_tree(place, source=tree, options=BuildOptions(patches=[mail]), cache=tmp_path / "cache", inputs=INPUTS)
    assert (made.path, made.version) == (place, "7.2")
    subjects = _git(place, "log", "--reverse", "--format=%s").splitlines()
    assert subjects == list(made.commits)
    assert subjects[1:] == ["0001-x", "mptcp: send in smaller bursts", "The lab's files of kernel/net"]
    assert _git(place, "status", "--porcelain", "--ignored") == ""
    assert (place / "file").read_text() == "newest\n"
    assert _git(place, "show", "HEAD~3:file") == "old\n"
    assert (tree / "file").read_text() == "old\n"


def test_what_is_committed_there_applies_in_a_build(tree: Path, tmp_path: Path) -> None:  # noqa: F811
    """The purpose of the tree: a change of it as a patch, for a build that has ours already."""
    place = tmp_path / "lab"
    write_tree(place, source=tree, cache=tmp_path / "cache", inputs=INPUTS)
    (place / "file").write_text("mine\n")
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    _git(place, *who, "commit", "--all", "--message", "Mine")
    (patch,) = _git(place, "format-patch", "-1", "--output-directory", str(tmp_path)).split()
    checked = check_build(
        source=tree, options=BuildOptions(patches=[Path(patch)]), cache=tmp_path / "cache", inputs=INPUTS
    )
    assert checked.patches[-1] == f"given/01-{Path(patch).name}"


def test_a_folder_that_exists_is_refused(tree: Path, tmp_path: Path) -> None:  # noqa: F811
    with pytest.raises(InputError, match="exists already"):
        write_tree(tree, source=tree, cache=tmp_path / "cache", inputs=INPUTS)


def test_a_patch_that_does_not_apply_leaves_no_tree(tree: Path, tmp_path: Path) -> None:  # noqa: F811
    (tree / "file").write_text("other\n")
    place = tmp_path / "lab"
    with pytest.raises(LabError, match=r"0001-x\.patch does not apply"):
        write_tree(place, source=tree, cache=tmp_path / "cache", inputs=INPUTS)
    assert not [path for path in tmp_path.iterdir() if "lab" in path.name]


def test_the_commands(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("mptcplab.kernel.build.load_inputs", lambda *_, **__: INPUTS)
    monkeypatch.setattr(develop, "load_inputs", lambda *_, **__: replace(INPUTS, overlay=()))
    runner = CliRunner()
    done = runner.invoke(command, ["build", "--check", "--source", str(tree)], catch_exceptions=False)
    assert done.stdout == "Linux 7.2: 1 patch applies, and the configuration lacks CONFIG_ODD=y.\n"
    done = runner.invoke(command, ["build", "--check", "--source", str(tree), "--json"], catch_exceptions=False)
    assert json.loads(done.stdout)["patches"] == ["0001-x.patch"]
    place = tmp_path / "lab"
    done = runner.invoke(command, ["tree", str(place), "--source", str(tree), "--plain"], catch_exceptions=False)
    assert done.stdout.splitlines() == [
        f"Linux 7.2, 1 commit above: {place}",
        "Build a patch of it: mptcplab kernel build --plain --keep-tree --patch FILE",
    ]
    refused = runner.invoke(command, ["build", "--check", "--keep-tree", "--source", str(tree)])
    assert isinstance(refused.exception, InputError)
    assert refused.exception.status == Exit.BAD_INPUT
