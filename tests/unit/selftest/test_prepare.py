# SPDX-License-Identifier: MIT
"""A selftest that would skip all its tests for want of a program is refused, and the program named with its package."""

from __future__ import annotations

from pathlib import Path

import pytest

from mptcplab.engine import tools
from mptcplab.errors import Exit, MissingError
from mptcplab.kernel.source import KernelSource
from mptcplab.selftest.prepare import SelftestTree, check_programs, needed_programs

#: Forms of Linux 7.2, where a library checks, and of 6.1, where each script does.
JOIN = 'iptables="iptables"\nip6tables="ip6tables"\n\n\tmptcp_lib_check_tools ip ss "${iptables}" "${ip6tables}"\n'
OLD = 'if [ $? -ne 0 ];then\n\techo "SKIP: Could not run all tests without iptables tool"\n\texit $ksft_skip\nfi\n'


@pytest.fixture
def selftest_tree(tmp_path: Path) -> SelftestTree:
    folder = tmp_path / "net" / "mptcp"
    folder.mkdir(parents=True)
    for name, text in (("mptcp_join", JOIN), ("old", OLD), ("diag", "mptcp_lib_check_tools ip ss\n"), ("none", "")):
        (folder / f"{name}.sh").write_text(text)
    return SelftestTree(tmp_path, KernelSource(kind="tarball", name="linux.tar", path=Path("linux.tar"), sha256="s"))


@pytest.fixture
def without_iptables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has ``ip`` and ``ss`` only."""
    (tmp_path / "bin").mkdir()
    for name in ("ip", "ss"):
        (tmp_path / "bin" / name).touch(mode=0o755)
    monkeypatch.setattr(tools, "_SEARCH", str(tmp_path / "bin"))


def test_scripts_name_their_programs() -> None:
    assert needed_programs(JOIN) == ("ip", "ss", "iptables", "ip6tables")
    assert needed_programs(OLD) == ("iptables",)
    assert needed_programs("echo 'a test without iptables'") == ()


@pytest.mark.usefixtures("without_iptables")
def test_the_program_its_package_and_the_scripts_that_do_without(selftest_tree: SelftestTree) -> None:
    with pytest.raises(MissingError) as caught:
        check_programs(selftest_tree, ["none", "mptcp_join", "old", "diag", "mptcp_join"])
    assert caught.value.status == Exit.MISSING
    assert caught.value.message == "this machine has no 'iptables', which mptcp_join and old need"
    assert (caught.value.hint or "").splitlines() == [
        "sudo apt-get install iptables",
        "  or without it: mptcplab selftest none diag",
    ]


@pytest.mark.usefixtures("without_iptables")
def test_only_the_scripts_that_run_are_asked(selftest_tree: SelftestTree) -> None:
    check_programs(selftest_tree, ["none", "diag"])
    with pytest.raises(MissingError) as caught:
        check_programs(selftest_tree, ["mptcp_join"])
    assert caught.value.hint == "sudo apt-get install iptables"
