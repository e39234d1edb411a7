# SPDX-License-Identifier: MIT
"""A path fails silently: the other one is soon as fast as it can be, with every scheduler of the lab."""

from __future__ import annotations

import pytest
from tests.lab.bench import Bench, note
from tests.lab.mptcp.test_schedulers import ALL, NETWORK

#: The window holds a bit more than both lines do, so that the connection is soon blocked by what the failed one lost.
FAILURE = (
    "workloads.bulk.duration=10 s",
    "record.interval=50 ms",
    'transport.tcp_rmem=["4 KiB", "600 kB", "600 kB"]',
)
DOWN = """
[[events]]
at = "4 s"
type = "down"
link = "link1"
"""
#: 5 periods of 200 ms, after which mainline takes a subflow for stale, and what its queue then needs on the other line.
STALE_S = 1.5


def _outage_s(bench: Bench, scheduler: str) -> float:
    row = bench.row(NETWORK + DOWN, *FAILURE, f"transport.scheduler={scheduler}")
    outage = row.metrics["outage_s"].mean
    print(f"{scheduler}: outage {outage:.2f} s, gap {row.metrics['gap_s'].mean:.2f} s, {row.counts}")
    return outage


@ALL
def test_the_other_path_takes_over(bench: Bench, scheduler: str) -> None:
    assert _outage_s(bench, scheduler) < STALE_S


@pytest.mark.parametrize("scheduler", ["minrtt_v09", "blest_v09", "ecf_v09"])
def test_the_out_of_tree_schedulers_do_not_wait_until_the_subflow_is_stale(bench: Bench, scheduler: str) -> None:
    """What the subflow carried goes out after its first retransmission timeout, about 300 ms after the failure.

    With one segment for each acknowledgement, which the receiver delays by 40 ms, the first two took 1.2 and 1.05 s.
    """
    outage = _outage_s(bench, scheduler)
    note(f"path failure {scheduler} outage s", outage)
    assert outage < 0.8


#: A middlebox on a third path drops SYNs with MP_JOIN, without an answer. The client repeats its SYN after 1, 2, 3, 4,
#: 5, 7 and 11 s, so that at the failure this SYN's timer has more than 3 s to go.
UNANSWERED = """
[links.link3]
rate = "20 Mbit/s"
delay = "10 ms"
queue = "50 ms"

[routers.r3.middlebox]
drop = ["mp_join"]

[[events]]
at = "7.5 s"
type = "down"
link = "link1"
"""


@ALL
def test_a_join_without_an_answer_delays_no_retransmission(bench: Bench, scheduler: str) -> None:
    """The timer of the connection waits for the timers of subflows that carry data, not for the timer of the SYN."""
    settings = (*FAILURE, "topology.paths=3", "workloads.bulk.duration=13 s", f"transport.scheduler={scheduler}")
    row = bench.row(NETWORK + UNANSWERED, *settings)
    gap, outage = (row.metrics[name].mean for name in ("gap_s", "outage_s"))
    print(f"{scheduler}: gap {gap:.2f} s, outage {outage:.2f} s, {row.counts}")
    assert row.counts[0].joins == 1, "the third path's subflow should not be there"
    assert outage < STALE_S
    # A subflow's timer has 200 ms and a round trip, 70 ms with a full queue. The connection's may start at its end.
    assert gap < 0.6
