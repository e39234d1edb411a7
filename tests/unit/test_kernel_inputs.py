# SPDX-License-Identifier: MIT
"""What identifies a kernel, and what became of the options asked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mptcplab.errors import LabError
from mptcplab.kernel import data
from mptcplab.kernel.config import ESSENTIAL, check_essential, lost_options, parse_config
from mptcplab.kernel.data import Inputs, NamedFile, load_inputs

BASE = Inputs(
    fragment="CONFIG_NET=y\n",
    patches=(NamedFile("0001-a.patch", b"a"), NamedFile("0002-b.patch", b"b")),
    overlay=(NamedFile("net/mptcp/lia.c", b"int x;"),),
)
KEY = BASE.key(source_sha256="s", compiler="gcc 12")


@pytest.mark.parametrize(
    "changed",
    [
        replace(BASE, fragment="CONFIG_NET=y\nCONFIG_INET=y\n"),
        replace(BASE, fragment="# CONFIG_NET is not set\n"),
        replace(BASE, patches=BASE.patches[:1]),
        replace(BASE, patches=BASE.patches[::-1]),
        replace(BASE, patches=(BASE.patches[0], NamedFile("0002-b.patch", b"c"))),
        replace(BASE, patches=(BASE.patches[0], NamedFile("0003-b.patch", b"b"))),
        replace(BASE, overlay=()),
        replace(BASE, overlay=(NamedFile("net/mptcp/olia.c", b"int x;"),)),
    ],
)
def test_key_changes_with_each_of_our_inputs(changed: Inputs) -> None:
    assert changed.digest != BASE.digest
    assert changed.key(source_sha256="s", compiler="gcc 12") != KEY


def test_key_changes_with_source_compiler_and_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    assert BASE.key(source_sha256="t", compiler="gcc 12") != KEY
    assert BASE.key(source_sha256="s", compiler="gcc 13") != KEY
    monkeypatch.setattr(data, "RECIPE", data.RECIPE + 1)
    assert BASE.key(source_sha256="s", compiler="gcc 12") != KEY


def test_comments_and_blank_lines_do_not_change_the_key() -> None:
    commented = replace(BASE, fragment="# why\n\n  CONFIG_NET=y\n\n# links: none\n")
    assert commented.digest == BASE.digest


def test_inputs_are_read_in_name_order(tmp_path: Path) -> None:
    files = {
        "config/lab.config": "CONFIG_NET=y\n",
        "patches/0002-b.patch": "b",
        "patches/0001-a.patch": "a",
        "patches/README": "no patch",
        "net/mptcp/lia.c": "int x;",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert load_inputs(tmp_path) == BASE


def test_the_project_has_its_inputs() -> None:
    inputs = load_inputs()
    wanted = parse_config(inputs.fragment)
    assert {wanted.get(name) for name in ESSENTIAL} == {"y"}
    assert inputs.patches


def test_parse_config_reads_values_strings_and_unset() -> None:
    text = '# CONFIG_A is not set\nCONFIG_B=y\nCONFIG_C="-x=1"\n# CONFIG_ of no meaning\nCONFIG_A=y\n'
    assert parse_config(text) == {"CONFIG_A": "y", "CONFIG_B": "y", "CONFIG_C": '"-x=1"'}


def test_lost_options_are_those_that_are_not_as_asked() -> None:
    wanted = parse_config('CONFIG_A=y\nCONFIG_B=y\nCONFIG_C="x"\nCONFIG_D=n\n# CONFIG_E is not set')
    final = parse_config('CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C="y"\nCONFIG_E=y\n')
    assert lost_options(wanted, final) == ("CONFIG_B=y", 'CONFIG_C="x"', "CONFIG_E=n")


def test_essential_options_may_not_be_lost() -> None:
    check_essential(["CONFIG_IP_NF_IPTABLES_LEGACY=y"])
    with pytest.raises(LabError, match=r"CONFIG_MPTCP, CONFIG_NET_SCH_NETEM$"):
        check_essential(["CONFIG_NET_SCH_NETEM=y", "CONFIG_X=y", "CONFIG_MPTCP=y"])
