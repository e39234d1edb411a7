# SPDX-License-Identifier: MIT
"""The table of MPTCP endpoints: equal rows of several points are one, which names exactly these points."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product

from mptcplab.metrics.network import ENDPOINTS, EndpointStates, NetworkCounters
from mptcplab.metrics.rows import RunResult
from mptcplab.report.network import network_tables
from mptcplab.report.table import Table

ASKED = ("10.0.1.1 subflow",)
DELAYS = ("10 ms", "20 ms", "30 ms", "40 ms")
Point = tuple[str, str]


def _table(points: Iterable[Point], seen: Callable[[Point, int], tuple[str, ...] | None], seeds: int = 2) -> Table:
    """The table of two keys; ``seen`` are the client's endpoints at a point with a seed, None without MPTCP."""
    results = []
    for point in points:
        for seed in range(1, seeds + 1):
            text = seen(point, seed)
            states = () if text is None else (EndpointStates("client", ASKED, text),)
            settings = (("transport.protocol", point[0]), ("links.link1.delay", point[1]))
            network = NetworkCounters({ENDPOINTS.name: states})
            results.append(RunResult(settings, seed, f"{point}{seed}", "k", (), network=network))
    (table,) = network_tables(results, {})
    return table


def test_rows_of_all_points_are_one() -> None:
    table = _table(product(("mptcp", "other"), DELAYS), lambda *_: ASKED)
    assert table.headings == ("node", "as asked for", "as seen", "n")
    assert table.rows == (("client", *ASKED, *ASKED, "2"),)
    assert "Every row holds for all 8 points." in table.notes


def test_points_without_mptcp_have_no_row() -> None:
    table = _table(product(("tcp", "mptcp"), DELAYS), lambda point, _: ASKED if point[0] == "mptcp" else None)
    assert table.headings[:2] == ("protocol", "link1.delay")
    assert [row[:3] for row in table.rows] == [("mptcp", "all", "client")]
    assert any(note.startswith("A row holds for every point that has its values") for note in table.notes)


def test_the_point_that_differs_has_a_row_of_its_own() -> None:
    """Each row names every combination of its values, and no other point."""

    def asked_options(point: Point, seed: int) -> tuple[str, ...]:
        return () if point == ("other", "40 ms") and seed == 2 else ASKED

    table = _table(product(("mptcp", "other"), DELAYS), asked_options)
    assert [(*row[:2], row[-1]) for row in table.rows] == [("all", "all", "1 to 2"), ("other", "40 ms", "1")]
    marked = [(line, place) for line, row in enumerate(table.rows) for place, cell in enumerate(row) if cell.emphasis]
    assert marked == [(1, 4)], "an endpoint is missing there"
    table = _table(product(("mptcp", "other"), DELAYS), lambda point, _: asked_options(point, 2))
    assert [row[:2] for row in table.rows] == [("all", "all but 40 ms"), ("mptcp", "40 ms"), ("other", "40 ms")]


def test_keys_that_are_swept_together() -> None:
    """Their values cannot be combined: a row for two of three points would claim others that do not exist."""
    points = [("a", "10 ms"), ("b", "20 ms"), ("c", "30 ms")]
    assert [row[0] for row in _table(points, lambda *_: ASKED).rows] == ["client"]
    table = _table(points, lambda point, _: () if point[0] == "c" else ASKED)
    assert [row[:2] for row in table.rows] == points


def test_a_single_point_has_its_values() -> None:
    assert [row[:2] for row in _table([("mptcp", "10 ms")], lambda *_: ASKED).rows] == [("mptcp", "10 ms")]
