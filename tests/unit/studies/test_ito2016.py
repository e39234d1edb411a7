# SPDX-License-Identifier: MIT
"""ito2016: what its three tables have in common is one measurement, here as in the study."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from mptcplab.plan.compile import compile_plan
from mptcplab.plan.model import Plan
from mptcplab.scenario.links import Link
from mptcplab.scenario.load import load
from mptcplab.study.library import select

MPTCP = {"transport.protocol": "mptcp"}


def _plan(table: str, wanted: dict[str, str]) -> Plan:
    (selected,) = select(f"ito2016/{table}")
    points = load(selected.scenario).points
    (point,) = (point for point in points if wanted.items() <= point.settings.items())
    return compile_plan(point.scenario, seed=1)


def _joins(links: Mapping[str, Link], end: str, other: str) -> list[str]:
    return [name for name, link in links.items() if {end, other} == set(link.between)]


def test_mptcp_at_normal_delay_is_the_same_run_in_three_tables() -> None:
    """The study prints 16.7 ± 0.3 three times; a run that is planned alike is recorded once."""
    plan = _plan("1", {"transport.congestion_control": "cubic"})
    assert plan == _plan("2", MPTCP | {"links.line1.delay": "145 ms"})
    assert plan == _plan("3", MPTCP | {"links.line*.loss": "0 %"})
    assert plan != _plan("1", {"transport.congestion_control": "reno"})


@pytest.mark.slow
@pytest.mark.parametrize("client", ["client1", "client2"])
def test_tcp_at_normal_delay_is_the_same_run_in_two_tables(client: str) -> None:
    path = {"workloads.bulk.from": client}
    assert _plan("2", path | {"links.line1.delay": "145 ms"}) == _plan("3", path | {"links.line*.loss": "0 %"})
    assert _plan("3", path | {"links.line*.loss": "1 %"}) == _plan(
        "loss-way", path | {"links.line*.forward.loss": "1 %", "links.line*.backward.loss": "1 %"}
    )


def test_each_client_of_tcp_has_the_path_that_its_column_names() -> None:
    """TCP's client 1 reaches the server by line1 alone, client 2 by line2, the client of MPTCP by both."""
    (selected,) = select("ito2016/2")
    links = load(selected.scenario).points[0].scenario.links
    reached = {
        client: [number for number in "12" if _joins(links, client, f"provider{number}")]
        for client in ("client", "client1", "client2")
    }
    assert reached == {"client": ["1", "2"], "client1": ["1"], "client2": ["2"]}
    assert [_joins(links, f"provider{number}", "internet") for number in "12"] == [["line1"], ["line2"]]
    assert [name for name, link in links.items() if "server" in link.between] == ["uplink"], (
        "one address, as in the study"
    )


def test_jitter_grows_with_the_delay() -> None:
    """In Table 2 jitter is in proportion to the delay: the study's words on it, read as about these experiments."""
    (selected,) = select("ito2016/2")
    for point in load(selected.scenario).points:
        lines = [point.scenario.links[name].forward for name in ("line1", "line2")]
        assert [line.delay / 145 for line in lines[:1]] == [line.jitter for line in lines[:1]], point.label
        assert lines[1].delay == 24 * lines[1].jitter, point.label
