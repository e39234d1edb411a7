# SPDX-License-Identifier: MIT
"""Reasons with a name: one mechanism has one setting in all tables of a study that it should explain."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from mptcplab.errors import LabError
from mptcplab.study.library import SelectedTable, select, study_names
from mptcplab.study.parameters import check_reasons

_NAMED = """
[[reasons]]
name = "the rate"
value = "{value}"
runs = [{{ table = "more", rows = ["8 Mbit/s"], columns = ["mptcp"], key = "{key}" }}]
"""
_SHOWN = 'reason = "r", name = "the rate", shown_by = { table = "more" }'
#: With ``shown_by``, all columns of the table are mapped, of which the reason has one.
_SHOWN_BY_ONE = 'reason = "r", name = "the rate", shown_by = { table = "more", columns = { mptcp = "mptcp" } }'


def _tables(studies: Path, named: str, because: str = _SHOWN_BY_ONE) -> Sequence[SelectedTable]:
    file = studies / "made" / "study.toml"
    file.write_text(file.read_text().replace('reason = "r"', because) + named)
    return select("made")


def _reason_text(key: str = "links.link1.rate", value: str = "50 Mbit/s") -> str:
    return _NAMED.format(key=key, value=value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("links.link1.rate", "50 Mbit/s"),
        ("links.link1.rate", "50000 kbit/s"),
        ("links.link2.rate", "8 Mbit/s"),
        ("transport.protocol", "mptcp"),
    ],
)
def test_runs_with_the_setting(studies: Path, key: str, value: str) -> None:
    """A fixed key, in any unit, the key of the rows, and the key of the columns."""
    for selected in _tables(studies, _reason_text(key, value)):
        check_reasons(selected)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (
            "links.link1.rate",
            "40 Mbit/s",
            "reason 'the rate' should have links.link1.rate = 40 Mbit/s, but has 50 Mbit/s",
        ),
        ("links.link2.rate", "16 Mbit/s", "should have links.link2.rate = 16 Mbit/s, but has 8 Mbit/s"),
        ("transport.protocol", "tcp", "should have transport.protocol = tcp, but has mptcp"),
        ("links.link9.rate", "8 Mbit/s", "has no key links.link9.rate, which reason 'the rate' names"),
    ],
)
def test_runs_with_another_setting(studies: Path, key: str, value: str, message: str) -> None:
    (selected,) = [table for table in _tables(studies, _reason_text(key, value)) if table.number == "more"]
    with pytest.raises(LabError, match="the data of study 'made' is damaged: table more") as error:
        check_reasons(selected)
    assert message in error.value.message
    assert "[[reasons]] in" in (error.value.hint or "")


@pytest.mark.parametrize(
    ("named", "because", "message"),
    [
        ("", _SHOWN_BY_ONE, "table 1 names the reason 'the rate', which is not in [[reasons]]"),
        (
            _reason_text(),
            _SHOWN,
            "table 1: the reason 'the rate' is shown by column tcp of table more, which is not among its runs",
        ),
        (_reason_text(), 'reason = "r"', "no table and no claim names the reason 'the rate'"),
        (_reason_text() * 2, _SHOWN_BY_ONE, "two entries of [[reasons]] have the same name"),
        (_reason_text().replace('"more"', '"x"'), _SHOWN_BY_ONE, "reason 'the rate' names table x"),
        (_reason_text().replace('["8 Mbit/s"]', '["9 Mbit/s"]'), _SHOWN_BY_ONE, "table more has no row '9 Mbit/s'"),
    ],
)
def test_damaged_reasons_are_refused(studies: Path, named: str, because: str, message: str) -> None:
    with pytest.raises(LabError, match="the data of study 'made' is damaged") as error:
        _tables(studies, named, because)
    assert message in (error.value.hint or "")


@pytest.mark.slow
@pytest.mark.parametrize("name", study_names())
def test_every_shipped_reason_has_one_setting(name: str) -> None:
    for selected in select(name):
        check_reasons(selected)


def test_small_buffers_are_equally_small_in_all_tables() -> None:
    """Before, subramani2018 had 512 KiB in one table and 2 MiB in another, on the same routers."""
    reasons = {reason.name: reason for reason in select("subramani2018")[0].study.reasons}
    small = reasons["smaller receive buffer"]
    assert "2 MiB" in small.value
    assert {runs.table for runs in small.runs} >= {"loss-cause", "delay-cause", "gateway-delay", "gateway-small"}
