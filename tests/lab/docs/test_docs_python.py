# SPDX-License-Identifier: MIT
"""The examples of docs/python.md that run labs; tests/unit/docs/test_python.py executes the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.docs.python_page import copy_files, list_examples, new_names

EXAMPLES = list_examples()
HEADINGS = list(dict.fromkeys(example.heading for example in EXAMPLES if example.needs_lab))


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names that the examples can use, in a folder with their files."""
    copy_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    return new_names()


@pytest.mark.parametrize("heading", HEADINGS)
def test_examples_work(heading: str, names: dict[str, Any], capfd: pytest.CaptureFixture[str]) -> None:
    """Of a section with labs, its other examples too: they define what these use."""
    for example in EXAMPLES:
        if example.heading == heading and not ("build_" in example.text or "calibrate_" in example.text):
            example.execute(names)
    output = capfd.readouterr()
    assert output.out, "each prints something"
    if heading == "Any program in virtual time":
        assert "0 2." in output.out, "three echoes, one a second"
        assert r"b'a\nb\n'" in output.out
    if heading == "Kernels, selftests and programs":
        assert "True {'ok':" in output.out
