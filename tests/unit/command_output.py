# SPDX-License-Identifier: MIT
"""The output of ``mptcplab`` in this process."""

from __future__ import annotations

import sys
from typing import NamedTuple

import pytest

from mptcplab.cli.main import main


class Output(NamedTuple):
    """A command's status and output."""

    status: object
    out: str
    err: str


def output_of(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: object) -> Output:
    """Run ``mptcplab`` with these words, and return its output, which has no traceback."""
    monkeypatch.setattr(sys, "argv", ["mptcplab", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        main()
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err, captured.err
    return Output(ended.value.code or 0, captured.out, captured.err)
