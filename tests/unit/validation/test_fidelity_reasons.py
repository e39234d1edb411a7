# SPDX-License-Identifier: MIT
"""The command line and the rows of the programs that show one reason each (validation/fidelity/reason_programs.py)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from validation.fidelity.reason_programs import measure, rows_of_file

from mptcplab.errors import LabError


@dataclass(frozen=True)
class _Row:
    seed: int


def _rows(options: argparse.Namespace) -> Iterator[_Row]:
    yield from map(_Row, range(1, options.seeds + 1))


def _fail(options: argparse.Namespace) -> Iterator[_Row]:
    yield _Row(1)
    raise LabError(f"no kernel for {options.out}", hint="build it")


def test_rows_are_written_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "rows.json"
    assert rows_of_file(file, _Row) == []
    monkeypatch.setattr(sys, "argv", ["made", "--seeds", "2", "--write", str(file)])
    measure("validation.fidelity.made", "made", _rows, seeds=3)
    assert rows_of_file(file, _Row) == [_Row(1), _Row(2)]


def test_a_run_that_fails_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rows.json"
    monkeypatch.setattr(sys, "argv", ["made", "--write", str(file)])
    with pytest.raises(SystemExit) as ended:
        measure("validation.fidelity.made", "made", _fail)
    err = capsys.readouterr().err
    assert ended.value.code == LabError("", hint="").status
    assert err.splitlines()[1:] == [
        "python -m validation.fidelity.made: no kernel for results/fidelity-made",
        "  hint: build it",
    ]
    assert not file.exists()
