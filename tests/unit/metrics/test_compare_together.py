# SPDX-License-Identifier: MIT
"""Comparisons by a key that changes together with another one, as in a zip, or that leaves no row in common."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.comparisons import SLOWER, A, output, row_of, write


@pytest.mark.parametrize("reference", [(), ("--reference", "4 MiB")])
def test_keys_that_change_together_are_compared_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, reference: tuple[str, ...]
) -> None:
    """Buffers of a zip: rows of one value of the one key had no row in common, and the command printed nothing."""
    points = [
        ({"cc": cc, "rmem": size, "wmem": size}, values)
        for cc in ("cubic", "olia")
        for size, values in (("4 MiB", SLOWER), ("16 MiB", A), ("64 MiB", A))
    ]
    made = write(tmp_path / "made", [row_of(point, values, run=f"{point}") for point, values in points])
    status, out, err = output(capsys, monkeypatch, made, "--by", "rmem", *reference)
    assert (status, err) == (0, "")
    assert "wmem changes together with rmem: differences are due to all." in out, out
    assert "differs" in out, out
    _, out, _ = output(capsys, monkeypatch, made, "--by", "cc")
    assert "together" not in out, out


def test_results_without_a_common_row_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    points = [{"by": str(number), "size": f"{number} MB", "delay": f"{number % 2} ms"} for number in range(3)]
    points += [{**points[0], "size": "9 MB"}, {**points[1], "delay": "7 ms"}, {**points[2], "size": "8 MB"}]
    rows = [row_of(point, A, run=f"{point}") for point in points]
    _, out, _ = output(capsys, monkeypatch, write(tmp_path / "made", rows), "--by", "by")
    assert "The results have no row in common" in out, out
