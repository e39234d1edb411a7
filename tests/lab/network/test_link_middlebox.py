# SPDX-License-Identifier: MIT
"""Boxes on the way: what MPTCP makes of them is measured, seen in the table, and told by the kernel's own counters."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest
from tests.lab.bench import Bench, note

from mptcplab.metrics.rows import ResultRow, result_rows
from mptcplab.recording.record import Recording

LINES = """
[topology]
preset = "disjoint-paths"

[links.link1]
rate = "10 Mbit/s"
delay = "10 ms"

[links.link2]
rate = "10 Mbit/s"
delay = "10 ms"

[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
size = "4 MB"
checksum = true
"""
FELL_BACK = "1 of 1 connections fell back to TCP"
ONE_SUBFLOW = "MPTCP was in use, but only one subflow carried data"
#: 4 MB over one line of 10 Mbit/s, of which 95.6 % is payload, and some round trips; half of it over two.
ONE_PATH_S, TWO_PATHS_S = (3.3, 3.8), (1.65, 2.0)


def _run(bench: Bench, *settings: str) -> tuple[Recording, ResultRow]:
    (recording,) = bench.record(LINES, *settings)
    (row,) = result_rows([recording])
    return recording, row


def _count(recording: Recording, node: str) -> dict[str, int]:
    """The kernel's counters of MPTCP."""
    kernel: dict[str, int] = recording.counter(node, "nstat.json")["kernel"]
    return {key.removeprefix("MPTcpExt"): value for key, value in kernel.items() if key.startswith("MPTcpExt")}


def _seconds(row: ResultRow) -> float:
    return row.metrics["duration_s"].mean


def _count_touched(recording: Recording, router: str) -> int:
    """Packets that the router's rules counted."""
    touched = 0
    rules: list[dict[str, Any]] = recording.counter(router, "nft.json")["nftables"]
    for rule in (entry["rule"] for entry in rules if "rule" in entry):
        touched += sum(part["counter"]["packets"] for part in rule["expr"] if "counter" in part)
    return touched


def test_nothing_on_the_way(bench: Bench) -> None:
    """What the others are compared with."""
    recording, row = _run(bench)
    assert row.mptcp == "2 subflows"
    assert not row.warnings
    assert TWO_PATHS_S[0] < _seconds(row) < TWO_PATHS_S[1]
    assert not (recording.folder / "counters" / "r1" / "nft.json").exists()


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
@pytest.mark.parametrize("options", ['["all"]', '["mp_capable"]'])
def test_without_mp_capable_it_is_tcp(bench: Bench, options: str, family: str) -> None:
    recording, row = _run(bench, f"routers.r1.middlebox.strip={options}", f"family={family}")
    print(f"strip {options}: {_seconds(row):.3f} s, {row.mptcp}, {_count_touched(recording, 'r1')} packets touched")
    if family == "ipv4":
        note(f"strip {json.loads(options)[0]} s", _seconds(row))
    assert row.mptcp == "fell back"
    assert FELL_BACK in row.warnings
    assert _count(recording, "client")["MPCapableFallbackSYNACK"] == 1
    assert _count_touched(recording, "r1") == 1, "only the SYN had an option"
    assert ONE_PATH_S[0] < _seconds(row) < ONE_PATH_S[1]


def test_only_the_answer_is_stripped(bench: Bench) -> None:
    """`out` names where packets leave: the SYN passes, and the server's answer loses its option."""
    recording, row = _run(bench, 'routers.r1.middlebox={ strip = ["mp_capable"], out = ["access1"] }')
    assert row.mptcp == "fell back"
    assert _count(recording, "server")["MPCapableSYNRX"] == 1, "the server was asked for MPTCP"
    assert _count(recording, "client")["MPCapableFallbackSYNACK"] == 1
    assert _count_touched(recording, "r1") >= 1


@pytest.mark.parametrize("key", ["strip", "drop"])
def test_without_mp_join_one_subflow_is_left(bench: Bench, key: str) -> None:
    recording, row = _run(bench, f'routers.r2.middlebox.{key}=["mp_join"]')
    client = _count(recording, "client")
    print(f"{key} mp_join: {_seconds(row):.3f} s, {row.mptcp}, {_count_touched(recording, 'r2')} packets touched")
    note(f"{key} mp_join s", _seconds(row))
    assert row.mptcp == "1 subflow"
    assert ONE_SUBFLOW in row.warnings
    assert client["MPJoinSynTx"] >= 1
    assert client["MPJoinSynAckRx"] == 0
    assert _count_touched(recording, "r2") >= 1
    assert ONE_PATH_S[0] < _seconds(row) < ONE_PATH_S[1]


def test_dropped_mp_capable_costs_seconds(bench: Bench) -> None:
    """The kernel asks twice more, after 1 s and 2 s, and then without MPTCP: that gets through."""
    recording, row = _run(bench, 'routers.r1.middlebox.drop=["mp_capable"]')
    print(f"drop mp_capable: {_seconds(row):.3f} s, {_count_touched(recording, 'r1')} packets dropped")
    note("drop mp_capable s", _seconds(row))
    assert row.mptcp == "fell back"
    assert FELL_BACK in row.warnings
    assert ONE_PATH_S[0] + 3 < _seconds(row) < ONE_PATH_S[1] + 3.2
    assert 2 <= _count_touched(recording, "r1") <= 3


def test_stripped_add_addr_ends_mptcp(bench: Bench) -> None:
    """Mainline announces the second address in the first packet after the handshake, without any other option: a
    client that finds none there has to take it for a path that removes MPTCP (RFC 8684, 3.7)."""
    recording, row = _run(bench, 'routers.r1.middlebox.strip=["add_addr"]')
    assert row.mptcp == "fell back"
    assert _count(recording, "client")["MPCapableDataFallback"] == 1
    assert _count(recording, "server")["AddAddrTx"] >= 1
    assert _count_touched(recording, "r1") == 1


def test_without_mappings_both_sides_fall_back(bench: Bench) -> None:
    """The client since nothing of MPTCP is in the first answer, the server since its second segment has no mapping."""
    recording, row = _run(bench, 'routers.r1.middlebox.strip=["dss", "add_addr"]')
    print(f"strip dss and add_addr: {_seconds(row):.3f} s, {row.mptcp}")
    note("strip dss, add_addr s", _seconds(row))
    assert row.mptcp == "fell back"
    assert _count(recording, "client")["MPCapableDataFallback"] == 1
    assert _count(recording, "server")["DssFallback"] == 1
    assert ONE_PATH_S[0] < _seconds(row) < ONE_PATH_S[1]


def test_second_subflow_without_mappings_is_reset(bench: Bench) -> None:
    """It is joined, and then reset by the side that sends: the client."""
    recording, row = _run(bench, 'routers.r2.middlebox.strip=["dss"]', "workloads.bulk.size=8 MB")
    client, server = _count(recording, "client"), _count(recording, "server")
    note("strip dss second path, 8 MB s", _seconds(row))
    assert client["MPJoinSynAckRx"] >= 1, "the second subflow was made"
    assert (client["MPRstTx"], server["MPRstRx"]) == (1, 1), "and reset by the client"
    assert row.mptcp == "1 of 2 subflows"
    assert ONE_SUBFLOW in row.warnings
    assert 2 * ONE_PATH_S[0] < _seconds(row) < 2 * ONE_PATH_S[1]


def test_one_side_alone_falls_back(bench: Bench) -> None:
    """An announced address tells the client that options pass, so it waits for data acknowledgements for ever."""
    experiment = bench.experiment(LINES, 'routers.r1.middlebox.strip=["dss"]', "workloads.bulk.timeout=20 s")
    (done,) = bench.try_all(experiment)
    assert done.error is not None
    assert "did not end within its timeout" in done.error.message
    (left,) = (bench.folder / "results" / "failed").iterdir()
    fell_back = {}
    for side in ("client", "server"):
        # It was killed while it wrote: the last line may be half of one.
        lines = map(json.loads, (left / "out" / f"bulk.{side}.out").read_text().splitlines()[:-1])
        fell_back[side] = [line["fallback"] for line in lines if line["event"] == "mptcp"][-1]
    assert fell_back == {"client": False, "server": True}


def test_mangled_join_is_of_no_connection(bench: Bench) -> None:
    recording, row = _run(bench, 'routers.r2.middlebox.mangle=["mp_join"]')
    server = _count(recording, "server")
    print(f"mangled join: {row.mptcp}, {server['MPJoinNoTokenFound']} tokens not found, {_seconds(row):.3f} s")
    note("mangle mp_join s", _seconds(row))
    assert row.mptcp == "1 subflow"
    assert ONE_SUBFLOW in row.warnings
    assert server["MPJoinNoTokenFound"] == server["MPJoinSynRx"] == _count_touched(recording, "r2") == 1
    assert server["MPJoinAckRx"] == 0


def test_mangled_address_is_not_believed(bench: Bench) -> None:
    """An announcement has an HMAC over its address: it is said again, and no subflow is ever made to it."""
    recording, row = _run(bench, 'routers.r1.middlebox.mangle=["add_addr"]')
    client, server = _count(recording, "client"), _count(recording, "server")
    print(f"mangled address: {row.mptcp}, announced {server['AddAddrTx']} times, {_seconds(row):.3f} s")
    note("mangle add_addr s", _seconds(row))
    assert row.mptcp == "1 subflow"
    assert server["AddAddrTx"] > 1
    assert client["AddAddr"] == client["MPJoinSynTx"] == 0


def test_mptcp_finds_damage_by_its_checksum(bench: Bench) -> None:
    """With checksums the damaged subflow is reset, its data goes by the other one, and the payload is right."""
    checksum = 'transport.sysctl={ "net.mptcp.checksum_enabled" = 1 }'
    recording, row = _run(bench, "routers.r2.middlebox.damage=1 %", checksum)
    client, server = _count(recording, "client"), _count(recording, "server")
    print(f"damage: {_seconds(row):.3f} s, {row.mptcp}, shares {row.shares}, touched {_count_touched(recording, 'r2')}")
    note("damage s", _seconds(row))
    assert server["DataCsumErr"] == server["MPFailTx"] == client["MPFailRx"] == 1
    assert client["MPRstRx"] == 1
    assert row.shares["access1>link1"] > 0.9
    assert _count_touched(recording, "r2") >= 1


def test_tcp_and_mptcp_without_checksum_do_not_find_it(bench: Bench) -> None:
    """The box puts TCP's checksum right, as a gateway that rewrites payload does: only the workload's own tells."""
    for protocol in ("tcp", "mptcp"):
        (done,) = bench.try_all(
            bench.experiment(LINES, "routers.r1.middlebox.damage=1 %", f"transport.protocol={protocol}"), out=protocol
        )
        assert done.error is not None
        assert done.error.message == "bulk: the received payload is corrupt"


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
@pytest.mark.parametrize("direction", ["upload", "download"])
def test_subflows_pass_address_translation(bench: Bench, family: str, direction: str) -> None:
    """The server sees the routers' addresses; joins are authenticated by keys, and not by addresses."""
    nat = ('routers.r1.nat=["link1"]', 'routers.r2.nat=["link2"]')
    recording, row = _run(bench, *nat, f"family={family}", f"workloads.bulk.reverse={direction == 'download'}".lower())
    seen = recording.subflows.filter(pl.col("node") == "server")["remote"].unique().to_list()
    hosts = sorted(text.rpartition(":")[0].strip("[]") for text in seen)
    addresses = {"ipv4": ["10.0.2.1", "10.0.4.1"], "ipv6": ["fd00:6d70:7463:2::1", "fd00:6d70:7463:4::1"]}
    print(f"{family}, {direction}: the server saw {hosts}; {row.mptcp}, shares {row.shares}")
    assert hosts == addresses[family]
    assert row.mptcp == "2 subflows"
    assert not row.warnings
    assert TWO_PATHS_S[0] < _seconds(row) < TWO_PATHS_S[1]
