# SPDX-License-Identifier: MIT
"""docs/machine.md has what its scripts measure: every case, and every setting."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tools.docs.figures import effects, machine
from tools.docs.making.pages import ROOT

from mptcplab.scenario.load import load

CASES = [*((case, list(effects.HZ.values())) for case in effects.OF_HZ)]
CASES += [(case, list(variants.values())) for case, variants in effects.OF_SETTINGS]


def _rows(name: str) -> list[str]:
    """The first cell of every row of the table ``name``."""
    text = (ROOT / "docs" / "machine.md").read_text()
    table = text.partition(f"<!-- table {name} -->\n")[2].partition(f"\n<!-- end of table {name} -->")[0]
    return [line.split(" | ")[0].removeprefix("| ") for line in table.splitlines()[2:]]


def test_every_setting_is_on_the_page() -> None:
    """The page leaves out settings that neither kernel has; a test in the lab checks that."""
    assert _rows("settings") == [setting.name for setting in machine.SETTINGS]


@pytest.mark.parametrize(("case", "variants"), CASES, ids=lambda value: getattr(value, "title", ""))
def test_a_case_is_one_point(case: effects.Case, variants: list[tuple[str, ...]]) -> None:
    """Loaded with its settings, without being run: the scenario may have changed since."""
    for settings in variants:
        points = load(case.file, overrides=(*case.settings, *settings), repeats=case.repeats).points
        assert len(points) == 1, [point.label for point in points]


def _find(host: dict[str, str | None], default: dict[str, str | None]) -> dict[str, Any]:
    names = [setting.name for setting in machine.SETTINGS]
    facts = {name: "x" for name in names if "." not in name}
    sysctls: dict[str, str | None] = {name: "1" for name in names if "." in name}
    return {**facts, "host": {**sysctls, **host}, "default": {**sysctls, **default}}


def test_values_are_compared_by_kernel() -> None:
    """Debian has the kernel's own default; other values of a host differ; a setting of no kernel has no row."""
    ecn, sack, rmem = (f"net.ipv4.tcp_{name}" for name in ("ecn", "sack", "rmem"))
    new = _find({ecn: "3", sack: None}, {ecn: "2", sack: None})
    old = _find({sack: None}, {sack: None})
    rows = {name: row for name, *row in machine.rows({"7.2": new, "6.12": old})}
    assert rows[ecn][:3] == ["7.2: 3, 6.12: 1", "7.2: 2, 6.12: 1", "**no**"]
    assert rows["net.ipv4.tcp_dsack"][:3] == ["1", "1", "yes"]
    assert sack not in rows
    assert re.fullmatch(r"7\.2: .* 33554432, 6\.12: .* 6291456", rows[rmem][1]), rows[rmem]
