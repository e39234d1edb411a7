# SPDX-License-Identifier: MIT
"""The cost page: parts of a profile, and its tables. Nothing is timed here."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
from bench import costs, curves, profile


@pytest.mark.parametrize(
    ("function", "part"),
    [
        ("hrtimer_interrupt", "clock and timers"),
        ("__raise_softirq_irqoff", "clock and timers"),
        ("netem_dequeue", "links' queues"),
        ("__qdisc_run", "links' queues"),
        ("tcp_ack", "TCP and MPTCP"),
        ("__mptcp_move_skbs", "TCP and MPTCP"),
        ("__inet_lookup_established", "TCP and MPTCP"),
        ("ip_rcv_core", "IP and devices"),
        ("inet_gso_segment", "IP and devices"),
        ("__netif_receive_skb_core", "IP and devices"),
        ("skb_release_data", "packets in memory"),
        ("csum_partial", "packets in memory"),
        ("do_epoll_wait", "programs and system calls"),
    ],
)
def test_functions_belong_to_parts(function: str, part: str) -> None:
    assert profile.part_of(function) == part


def test_samples_are_counted_by_address() -> None:
    functions = ([0x60001000, 0x60002000], ["tcp_ack", "netem_dequeue"])
    script = """
        60001004 (/root/.cache/mptcplab/kernels/7.2/linux)
        60001ff0 (/root/.cache/mptcplab/kernels/7.2/linux)
        60002000 (/root/.cache/mptcplab/kernels/7.2/linux)
        14001005050 (/dev/shm/#38665 (deleted))
        ffffffff81000000 ([kernel.kallsyms])
    """
    counts = profile.count(script.strip(), functions)
    assert counts["TCP and MPTCP"] == pytest.approx(0.4)
    assert counts["links' queues"] == pytest.approx(0.2)
    assert counts["programs and system calls"] == pytest.approx(0.2)
    assert counts["host kernel"] == pytest.approx(0.2)
    assert set(counts) == set(profile.PARTS)


def test_table_subtracts_the_lab_without_traffic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now, before = costs.Side([1.2, 1.1, 9.0], [0.2, 0.2, 0.2]), costs.Side([2.5, 2.5, 2.5], [0.5, 0.5, 0.5])
    point = costs.CostPoint("16", 500_000, now, before, dict.fromkeys(profile.PARTS, 1 / len(profile.PARTS)))
    file = tmp_path / "costs.json"
    file.write_text(json.dumps({"curves": {"flows": [asdict(point)]}}))
    monkeypatch.setattr(costs, "FILE", file)
    head, _, row = costs.table("flows").splitlines()
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert curves.AXES["flows"] in head
    assert cells[:6] == ["16", "2.00", "4.00", "2.0", "0.20", "0.50"], "medians"
    assert cells[6:] == ["14 %"] * len(profile.PARTS)


def test_a_folder_without_the_earlier_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["bench.costs", "--before", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        costs.main()
    assert ended.value.code == 2
    assert "is not a checkout of mptcplab" in capsys.readouterr().err
