# SPDX-License-Identifier: MIT
"""Subflows of connections that are shorter than the time between two samples."""

from __future__ import annotations

import polars as pl
import pytest

from mptcplab.metrics.counters import MptcpCounts
from mptcplab.metrics.ends import Ends
from mptcplab.metrics.measure import _warnings
from mptcplab.metrics.subflows import MptcpUse, Sockets, unseen_joins, use_of_all


def _table(*subflows: tuple[str, int, str]) -> pl.DataFrame:
    """Two samples of each of some subflows: node, token and local address."""
    rows = [
        {"time_ns": time, "node": node, "token": token, "local": local, "remote": "10.0.0.1:5"}
        for node, token, local in subflows
        for time in (1, 2)
    ]
    return pl.DataFrame(rows)


@pytest.mark.parametrize(
    ("counted", "unseen"),
    [(2, 0), (16, 14), (1, 0)],
    ids=["all were sampled", "short connections", "a subflow of the other direction"],
)
def test_additional_subflows_that_no_sample_shows(counted: int, unseen: int) -> None:
    sampled = _table(("server", 7, "a"), ("server", 7, "b"), ("server", 7, "c"), ("server", 8, "a"), ("server", 0, "d"))
    other = _table(("client", 9, "a"), ("client", 9, "b"))
    assert unseen_joins(pl.concat([sampled, other]), "server", counted) == unseen
    assert unseen_joins(pl.DataFrame(), "server", counted) == counted, "nothing was sampled"


def test_one_subflow_is_only_what_was_seen() -> None:
    """Of 25 pages a sample every half second saw one, which had one subflow: "1 subflow" said that none had more."""
    one = MptcpUse(1, 1, 0, subflows=1, carrying={1: 1}, unseen=12)
    assert one.text == "1 subflow seen"
    assert use_of_all([one, one]).text == "1 subflow seen"
    assert MptcpUse(1, 1, 0, subflows=1, carrying={1: 1}).text == "1 subflow"
    assert MptcpUse(2, 2, 0, subflows=2, carrying={1: 1, 2: 1}, unseen=12).text == "1 to 2 subflows", "it was seen"
    assert MptcpUse(1, 0, 0, unseen=12).text == "no"


def test_the_row_says_how_to_see_them() -> None:
    ends = Ends("pages", "server", "client", None, None, None, (80,), is_bulk=False, has_control_connections=False)
    sockets = Sockets(MptcpUse(1, 1, 0, subflows=1, carrying={1: 1}, unseen=12), {}, 0, 1, ())
    transports = {name: {"protocol": "mptcp"} for name in ("client", "server")}
    said = _warnings(
        sockets,
        MptcpCounts(28, 16, 0),
        {"from": "client"},
        requests_mptcp=True,
        ends=ends,
        transports=transports,
    )
    (warning,) = said
    assert "counted 12 more" in warning
    assert "`interval` in [record]" in warning
