# SPDX-License-Identifier: MIT
"""Opportunistic retransmission and penalisation: what each of them counts and gains, and what they leave alone.

The full form of the first test is examples/behaviour/receive-buffer.toml, whose table is in docs/schedulers.md.
"""

from __future__ import annotations

import pytest
from tests.lab.bench import Bench, client
from tests.lab.mptcp.test_schedulers import NETWORK, show

from mptcplab.metrics.rows import ResultRow
from mptcplab.metrics.subflows import MptcpCounts

#: Figure 4 of the paper (Raiciu et al., NSDI 2012): Wi-Fi beside 3G, whose queue takes 2 s.
PATHS = (
    "links.link1.rate=8 Mbit/s",
    "links.link1.queue=80 ms",
    "links.link2.rate=2 Mbit/s",
    "links.link2.delay=75 ms",
    "links.link2.queue=2 s",
    "workloads.bulk.duration=30 s",
    "transport.congestion_control=lia",
    'transport.tcp_wmem=["4 KiB", "8 MiB", "8 MiB"]',
)
RETRANSMIT, PENALISE, BOTH = 1, 2, 3


def _row(bench: Bench, buffer: str, *settings: str, mode: int = 0) -> ResultRow:
    memory = f'transport.tcp_rmem=["4 KiB", "{buffer}", "{buffer}"]'
    sysctl = f'transport.sysctl={{ "net.mptcp.scheduler_opportunistic" = {mode} }}'
    row = bench.row(NETWORK, *PATHS, memory, sysctl, *settings)
    show(f"{buffer}, {mode}, {settings}: {_counts(row)}", row)
    return row


def _counts(row: ResultRow) -> MptcpCounts:
    (counts,) = row.counts
    return counts


@pytest.mark.parametrize("buffer", ["50 kB", "200 kB", "600 kB", "2400 kB"])
def test_not_slower_than_the_better_path(bench: Bench, buffer: str) -> None:
    """With both, with any receive buffer: figure 4 of the paper."""
    tcp = _row(bench, buffer, "transport.protocol=tcp").goodput_mbps.mean
    both = _row(bench, buffer, "transport.scheduler=minrtt", mode=BOTH).goodput_mbps.mean
    # 5 %: what the fast path carries twice, and its window while a segment of the slow one is missing.
    assert both > 0.95 * tcp, f"{both} Mbit/s, TCP alone {tcp}"


def test_mainlines_default_gains_from_both(bench: Bench) -> None:
    """It has 5.2 Mbit/s without and 7.5 with them at 600 kB, where TCP has 7.64 (docs/schedulers.md)."""
    tcp = _row(bench, "600 kB", "transport.protocol=tcp").goodput_mbps.mean
    both = _row(bench, "600 kB", "transport.scheduler=default", mode=BOTH).goodput_mbps.mean
    assert both > 0.95 * tcp, f"{both} Mbit/s, TCP alone {tcp}"


@pytest.mark.parametrize("scheduler", ["minrtt", "default"])
def test_each_mechanism_counts_what_it_does(bench: Bench, scheduler: str) -> None:
    for mode in (0, RETRANSMIT, PENALISE, BOTH):
        row = _row(bench, "200 kB", f"transport.scheduler={scheduler}", mode=mode)
        counts, duration_s = _counts(row), row.metrics["duration_s"].mean
        retransmitted, size, penalties = (
            counts.opportunistic_retransmissions,
            counts.opportunistic_bytes,
            counts.penalties,
        )
        assert retransmitted is not None, counts
        assert size is not None, counts
        assert penalties is not None, counts
        if mode & RETRANSMIT:
            # A segment has at most 1428 bytes; not all are full.
            assert 0 < retransmitted <= size <= 1428 * retransmitted, counts
        else:
            assert (retransmitted, size) == (0, 0), counts
        # One in a round trip of the slow subflow, which is at least 150 ms; until the send buffer is empty, too.
        most = duration_s / 0.15
        assert 0 < penalties < most if mode & PENALISE else penalties == 0, f"{counts} in {duration_s} s: {most}"


def test_nothing_changes_while_nothing_blocks(bench: Bench) -> None:
    """The same bytes, on or off, with buffers that hold all that is under way.

    Not so with mainline's default scheduler, which gives all that the window admits to the subflows at once, and so is
    blocked again and again with any buffer.
    """
    texts = []
    for mode in (0, BOTH):
        settings = (
            "workloads.bulk.duration=3 s",
            "transport.scheduler=minrtt",
            'transport.tcp_rmem=["4 KiB", "4 MiB", "4 MiB"]',
            'transport.tcp_wmem=["4 KiB", "8 MiB", "8 MiB"]',
            f'transport.sysctl={{ "net.mptcp.scheduler_opportunistic" = {mode} }}',
        )
        (recording,) = bench.record(NETWORK, *settings)
        nstat = recording.counter("client", "nstat.json")["kernel"]
        assert (nstat["MPTcpExtOppRetrans"], nstat["MPTcpExtOppPenalties"]) == (0, 0), nstat
        texts.append(recording.output("bulk.client"))
    assert len(texts[0].splitlines()) > 2, texts[0]
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("scheduler", "buffer"), [("minrtt_v09", "200 kB"), ("blest_v09", "400 kB"), ("ecf_v09", "200 kB")]
)
def test_the_out_of_tree_schedulers_always_have_both(bench: Bench, scheduler: str, buffer: str) -> None:
    """Whatever the setting says: with them it is part of the scheduler. BLEST leaves the slow path idle at 200 kB."""
    counts = _counts(_row(bench, buffer, f"transport.scheduler={scheduler}", mode=0))
    assert counts.penalties, counts
    assert scheduler != "minrtt_v09" or counts.opportunistic_retransmissions, counts


SYSCTL = """
cd /proc/sys/net/mptcp
echo "starts with $(cat scheduler_opportunistic)"
for value in 1 3 4 -1 x 0; do
    echo $value > scheduler_opportunistic 2> /dev/null && echo "took $(cat scheduler_opportunistic)" || echo refused
done
echo 3 > scheduler_opportunistic
echo "elsewhere $(unshare -n cat $PWD/scheduler_opportunistic)"
"""


def test_the_setting_is_read_strictly(bench: Bench) -> None:
    """0 to 3, off to begin with, in every network namespace."""
    plan = bench.plan(NETWORK, "workloads.bulk.size=1 B", programs=[client("sysctl", "sh", "-c", SYSCTL)])
    said = bench.live(plan).text("sysctl").splitlines()
    expected = ["starts with 0", "took 1", "took 3", "refused", "refused", "refused", "took 0", "elsewhere 0"]
    assert said == expected, said


#: The file is opened by one, and perhaps read by another.
TOKENS = """
table=/proc/net/mptcp_schedulers
look() { name=$1; shift; "$@" > /dev/null 2>&1 && echo "$name may" || echo "$name may not"; }
nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
look root cat $table
look nobody $nobody cat $table
look "root without the capability" setpriv --bounding-set -net_admin cat $table
look "nobody with it" setpriv --reuid 65534 --regid 65534 --clear-groups \
    --inh-caps +net_admin --ambient-caps +net_admin cat $table
look "root of a user namespace" unshare --user --map-root-user cat $table
look "root of a user namespace with a network" unshare --user --map-root-user --net cat $table
look "nobody, of a file that root opened" sh -c "$nobody cat < $table"
"""


def test_tokens_are_for_who_administers_the_network(bench: Bench) -> None:
    """A token names a connection. What counts is CAP_NET_ADMIN over the network namespace, of who opened the file."""
    plan = bench.plan(NETWORK, "workloads.bulk.size=1 B", programs=[client("tokens", "sh", "-c", TOKENS)])
    said = bench.live(plan).text("tokens").splitlines()
    assert said == [
        "root may",
        "nobody may not",
        "root without the capability may not",
        "nobody with it may",
        "root of a user namespace may not",
        "root of a user namespace with a network may",
        "nobody, of a file that root opened may",
    ], said
