# SPDX-License-Identifier: MIT
"""Which directions the figure of a capture draws."""

from __future__ import annotations

import pytest

from mptcplab.capture.connection import MptcpConnection, ThinnedPoints
from mptcplab.report.capture import _senders


def _connection(*counts: int) -> MptcpConnection:
    connection = MptcpConnection(1)
    for space, count in zip(connection.spaces, counts, strict=True):
        if count:
            points = space.points[0, False] = ThinnedPoints(100)
            for number in range(count):
                points.add(1000 * number, 1448 * number)
    return connection


@pytest.mark.parametrize(
    ("counts", "drawn"),
    [((9, 9), [0, 1]), ((1, 9), [1]), ((9, 0), [0]), ((1, 1), [0, 1]), ((0, 1), [1]), ((0, 0), [0])],
)
def test_a_direction_of_one_packet_is_no_panel(counts: tuple[int, int], drawn: list[int]) -> None:
    """A request of 147 B was an empty plot above the response."""
    assert _senders(_connection(*counts)) == drawn
