# SPDX-License-Identifier: MIT
"""Subflows of connections that are shorter than the time between two samples."""

from __future__ import annotations

import polars as pl
import pytest

from mptcplab.metrics.manifest import Node, NodeEndpoint, RecordedTransport
from mptcplab.metrics.measure import _count_warnings, _idle_warnings, _use_warnings
from mptcplab.metrics.subflows import Ends, MptcpCounts, MptcpUse, Sockets, count_unseen, use_of_all
from mptcplab.workload.recorded import RecordedWorkload


def _table(*subflows: tuple[str, int, str]) -> pl.DataFrame:
    """Two samples of each of some subflows: node, token and local address."""
    rows = [
        {"time_ns": time, "node": node, "token": token, "local": local, "remote": "10.0.0.1:5"}
        for node, token, local in subflows
        for time in (1, 2)
    ]
    return pl.DataFrame(rows)


@pytest.mark.parametrize(
    ("accepted", "joined", "missed"),
    [(2, 2, 0), (2, 16, 14), (28, 2, 26), (1, 1, 0)],
    ids=["all were sampled", "joins that came late", "short connections", "others that it began itself"],
)
def test_what_the_kernel_accepted_and_no_sample_shows(accepted: int, joined: int, missed: int) -> None:
    sampled = _table(("server", 7, "a"), ("server", 7, "b"), ("server", 7, "c"), ("server", 8, "a"), ("server", 0, "d"))
    other = _table(("client", 9, "a"), ("client", 9, "b"))
    ends = ("client", "server")
    counts = MptcpCounts(accepted, joined, 0)
    assert count_unseen(pl.concat([sampled, other]), ends, counts) == missed
    assert count_unseen(pl.DataFrame(), ends, counts) == max(accepted, joined), "nothing was sampled"


def test_one_subflow_is_only_what_was_seen() -> None:
    """Of 25 pages a sample every half second saw one, which had one subflow: "1 subflow" said that none had more."""
    use = MptcpUse(1, 1, 0, subflows=1, carrying={1: 1}, unseen=12)
    assert use.text == "1 subflow seen"
    assert use_of_all([use, use]).text == "1 subflow seen"
    assert MptcpUse(1, 1, 0, subflows=1, carrying={1: 1}).text == "1 subflow"
    assert MptcpUse(2, 2, 0, subflows=2, carrying={1: 1, 2: 1}, unseen=12).text == "1 to 2 subflows", "it was seen"
    assert MptcpUse(1, 1, 0, subflows=2, carrying={1: 1}, unseen=12).text == "1 of 2 subflows seen"
    assert MptcpUse(1, 0, 0, unseen=12).text == "no"


def _list_warnings(use: MptcpUse, shares: dict[str, float], backups: frozenset[str] = frozenset()) -> list[str]:
    ends = Ends("files", "server", "client", None, None, None, (80,), is_bulk=True, has_control_connections=False)
    workload = RecordedWorkload("files", "http", "client", "server", ends, {})
    sockets = Sockets(use, shares, 0, 1, ())
    return [
        *_use_warnings(sockets, workload, backups, opens_tcp=False),
        *_count_warnings(use, MptcpCounts(30, 30, 0)),
        *_idle_warnings(sockets, ends, backups),
    ]


def test_a_row_claims_nothing_of_connections_that_were_not_seen() -> None:
    """One of 30 was sampled; the table said that the second line carried nothing."""
    shares = {"link1": 1.0, "link2": 0.0}
    (only,) = _list_warnings(MptcpUse(1, 1, 0, subflows=2, carrying={1: 1}, unseen=29), shares)
    assert "samples miss connections that the kernel accepted" in only
    assert "`interval` in [record]" in only
    some = _list_warnings(MptcpUse(6, 6, 0, subflows=2, carrying={1: 2, 2: 4}, unseen=24), {"link1": 0.7, "link2": 0.3})
    assert some == ["MPTCP was in use, but only one subflow carried data in 2 of 6 connections that samples show"]
    every = _list_warnings(MptcpUse(1, 1, 0, subflows=2, carrying={1: 1}), shares)
    assert len(every) == 2, "all were seen: it is said of both the connection and the path"


def test_a_backup_that_carries_nothing_is_as_it_should_be() -> None:
    use, shares = MptcpUse(1, 1, 0, subflows=2, carrying={1: 1}), {"access1>link1": 1.0, "access2>link2": 0.0}
    assert _list_warnings(use, shares) == [
        "MPTCP was in use, but only one subflow carried data",
        "the subflow on access2>link2 carried less than 1 % of the data",
    ]
    assert _list_warnings(use, shares, frozenset({"link2"})) == []


@pytest.mark.parametrize(
    ("modes", "flags", "links"),
    [
        ({"link2": "backup"}, ["signal"], {"link2"}),
        ({"link2": "handover"}, ["signal"], set()),
        ({}, ["signal", "backup"], {"link1"}),
    ],
)
def test_backups_are_endpoints_with_the_flag_and_links_of_the_mode(
    modes: dict[str, str], flags: list[str], links: set[str]
) -> None:
    transport = RecordedTransport(protocol="mptcp", modes=modes)
    node = Node(
        "client", "host", transport, (NodeEndpoint(link="link1", flags=flags),), speaks_mptcp=True, middlebox=()
    )
    assert node.backup_links == links
