# SPDX-License-Identifier: MIT
"""`mptcplab selftest --patch`: the scripts that exist with patches, prepared separately for each set of patches."""

from __future__ import annotations

from pathlib import Path

import pytest

from mptcplab.errors import InputError
from mptcplab.kernel.data import NamedFile
from mptcplab.kernel.source import KernelSource
from mptcplab.selftest import prepare
from mptcplab.selftest.prepare import SelftestTree
from mptcplab.selftest.suite import SuitePart, _line, parts

SOURCE = KernelSource(kind="tarball", name="linux.tar", path=Path("linux.tar"), sha256="s")


@pytest.fixture
def selftest_tree(tmp_path: Path) -> SelftestTree:
    """Prepare one script of MPTCP's, and one next to them that a patch added."""
    for name in ("net/lib.sh", "net/tcp_new.sh", "net/mptcp/mptcp_lib.sh", "net/mptcp/diag.sh"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return SelftestTree(tmp_path, SOURCE)


def test_a_script_beside_mptcps_runs_in_its_own_folder(selftest_tree: SelftestTree) -> None:
    assert parts(selftest_tree, ["tcp_new", "diag.sh"]) == [SuitePart("tcp_new"), SuitePart("diag")]
    folders = [
        step for part in parts(selftest_tree, ["tcp_new", "diag"]) for step in _line(selftest_tree, part).split(" && ")
    ]
    assert [step for step in folders if step.startswith("cd ")] == ["cd /tmp/net", "cd /tmp/net/mptcp"]


@pytest.mark.parametrize("library", ["lib", "mptcp_lib"])
def test_a_library_is_no_test(selftest_tree: SelftestTree, library: str) -> None:
    with pytest.raises(InputError, match=f"no selftest '{library}'") as caught:
        parts(selftest_tree, [library])
    assert caught.value.hint == "there are diag, tcp_new"


def test_only_scripts_that_a_patch_names_are_kept_beside_mptcps() -> None:
    patch = (
        "+++ b/tools/testing/selftests/net/tcp_new.sh\n+++ b/tools/testing/selftests/net/Makefile\n"
        "+++ b/tools/testing/selftests/net/mptcp/diag.sh\n+++ b/net/mptcp/x.c\n"
    )
    assert prepare._PATCHED.findall(patch) == ["net/tcp_new.sh"]


def test_selftests_with_patches_are_separate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare, "compiler_version", lambda: "gcc 12")
    first, second = NamedFile("given/01-a.patch", b"a"), NamedFile("given/01-a.patch", b"b")
    keys = {prepare._key(SOURCE, patches) for patches in ((), (first,), (second,), (first, second))}
    assert len(keys) == 4
