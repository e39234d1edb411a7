# SPDX-License-Identifier: MIT
"""Sources: apt's output, the identity of trees and tarballs."""

from __future__ import annotations

import io
import json
import subprocess
from pathlib import Path

import pytest

from mptcplab.errors import InputError, MissingError
from mptcplab.kernel import debian
from mptcplab.kernel.cache import source_record
from mptcplab.kernel.debian import Apt, debian_source, parse_madison, parse_targets
from mptcplab.kernel.progress import SilentProgress
from mptcplab.kernel.source import local_source, tree_sha256, tree_version, unpack

MADISON = """\
linux-source-7.2 |   7.2.13-1 | http://mirror.example/debian sid/main amd64 Packages
linux-source-7.2 |   7.2.12-1 | http://mirror.example/debian forky/main amd64 Packages
linux-source-7.2 |   7.2.12-1 | http://mirror.example/debian trixie/main amd64 Packages
linux-source-7.2 | 7.2.11-1~bpo13+1 | http://mirror.example/debian trixie-backports/main amd64 Packages
linux-source-7.2 |   7.2.11-1 | http://mirror.example/debian sid/main Sources
linux-source-7.2-extra | 9 | http://mirror.example/debian sid/main amd64 Packages
W: something else
"""

TARGETS = """\
Debian|Debian-Security|Packages|http://security.example/
Docker|Docker CE|Packages|http://docker.example/debian/
Debian|Debian|DEP-11|http://other.example/debian/
Debian|Debian|Packages|http://mirror.example/debian/
Debian|Debian|Packages|http://mirror.example/debian/
|||http://unknown.example/
"""


def make_tree(place: Path) -> Path:
    """Create the minimal tree that is accepted as Linux."""
    (place / "arch" / "um").mkdir(parents=True)
    (place / "arch" / "um" / "Makefile").write_text("all:\n")
    (place / "Makefile").write_text("# SPDX\nVERSION = 7\nPATCHLEVEL = 2\nSUBLEVEL = 12\nEXTRAVERSION =\n")
    (place / "init").symlink_to("arch")
    return place


def test_madison_gives_versions_newest_first_each_once() -> None:
    assert parse_madison(MADISON, "linux-source-7.2") == ["7.2.13-1", "7.2.12-1", "7.2.11-1~bpo13+1"]
    assert parse_madison("", "linux-source-7.2") == []


def test_only_debians_main_archive_is_a_mirror() -> None:
    assert parse_targets(TARGETS) == ["http://mirror.example/debian/"]


def test_apt_is_private(tmp_path: Path) -> None:
    apt = Apt(tmp_path)
    apt.configure("http://mirror.example/debian/")
    for option in apt.options:
        name, _, value = option.partition("=")
        if name.startswith("Dir::"):
            assert value == "/dev/null" or value.startswith(str(tmp_path))
    lines = (tmp_path / "sources.list").read_text().splitlines()
    assert len(lines) == len(debian.SUITES)
    assert all("target=Packages" in line for line in lines)


def test_no_mirror_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian, "require_tools", lambda _tools: None)
    monkeypatch.setattr(debian, "capture", lambda _command: "")
    with pytest.raises(MissingError, match="no Debian mirror"):
        debian_source("7.2", tmp_path, progress=SilentProgress(), log=io.StringIO())


def test_a_version_that_the_mirror_lacks_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []
    output = io.StringIO()

    def download(_apt: Apt, _package: str, version: str, *, work: Path, log: io.StringIO) -> bool:
        assert log is output
        tried.append(version)
        (work / "some.deb").touch()
        return version == "7.2.12-1"

    monkeypatch.setattr(debian, "require_tools", lambda _tools: None)
    monkeypatch.setattr(debian, "capture", lambda command: MADISON if "madison" in command else TARGETS)
    monkeypatch.setattr(debian, "update", lambda _apt, _log: None)
    monkeypatch.setattr(debian, "download", download)
    monkeypatch.setattr(debian, "extract_member", lambda _deb, _member, target: target.write_bytes(b"tar"))
    source = debian_source("7.2", tmp_path, progress=SilentProgress(), log=output)
    assert tried == ["7.2.13-1", "7.2.12-1"]
    assert (source.package_version, source.path.read_bytes()) == ("7.2.12-1", b"tar")
    assert json.loads(source_record("7.2", tmp_path).read_text())["sha256"] == source.sha256
    # The second time it comes from the cache.
    assert debian_source("7.2", tmp_path, progress=SilentProgress(), log=io.StringIO()) == source
    assert len(tried) == 2


def test_tree_hash_changes_with_names_contents_modes_and_links(tmp_path: Path) -> None:
    tree = make_tree(tmp_path)
    seen = {tree_sha256(tree)}
    (tree / "a.c").write_text("int a;")
    seen.add(tree_sha256(tree))
    (tree / "a.c").write_text("int b;")
    seen.add(tree_sha256(tree))
    (tree / "a.c").rename(tree / "b.c")
    seen.add(tree_sha256(tree))
    (tree / "b.c").chmod(0o755)
    seen.add(tree_sha256(tree))
    (tree / "init").unlink()
    (tree / "init").symlink_to("b.c")
    seen.add(tree_sha256(tree))
    assert len(seen) == 6


def test_tree_hash_ignores_the_repository(tmp_path: Path) -> None:
    tree = make_tree(tmp_path)
    before = tree_sha256(tree)
    (tree / ".git").mkdir()
    (tree / ".git" / "HEAD").write_text("ref")
    assert tree_sha256(tree) == before


def test_a_tree_is_copied_and_a_tarball_unpacked(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "linux-7.2")
    tarball = tmp_path / "linux.tar.gz"
    subprocess.run(["tar", "-czf", str(tarball), "-C", str(tmp_path), "linux-7.2"], check=True)
    for number, given in enumerate((tree, tarball)):
        source = local_source(given)
        copy = tmp_path / f"copy{number}"
        unpack(source, copy, log=io.StringIO())
        assert tree_sha256(copy) == tree_sha256(tree)
        assert tree_version(copy) == "7.2"


def test_a_path_without_a_source_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        local_source(tmp_path / "none")
    with pytest.raises(InputError, match="not a Linux source tree"):
        local_source(tmp_path)
    junk = tmp_path / "junk.tar.xz"
    junk.write_text("junk")
    with pytest.raises(InputError, match="cannot be unpacked"):
        unpack(local_source(junk), tmp_path / "copy", log=io.StringIO())
    (tmp_path / "Makefile").write_text("all:\n")
    with pytest.raises(InputError, match="version"):
        tree_version(tmp_path)
