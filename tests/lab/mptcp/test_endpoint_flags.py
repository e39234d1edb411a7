# SPDX-License-Identifier: MIT
"""The subflows that each combination of an endpoint's flags opens, as a capture shows them: the table of scenario.md.

Every address of the client reaches every address of the server, and connections go from 10.0.1.1 to 10.0.3.2.
"""

from __future__ import annotations

import pytest
from tests.lab.bench import Bench

from mptcplab.capture.analysis import Analysis
from mptcplab.capture.packet import read_packets
from mptcplab.capture.summary import CapturedSubflow, summarise

MESH = """
title = "Two links to a router, and two from it"
routers.r = {}
links.a1 = { between = ["client", "r"], rate = "10 Mbit/s", delay = "10 ms" }
links.a2 = { between = ["client", "r"], rate = "10 Mbit/s", delay = "10 ms" }
links.b1 = { between = ["r", "server"] }
links.b2 = { between = ["r", "server"] }
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "1 s" }
hosts.client.transport.endpoints = CLIENT
hosts.server.transport.endpoints = SERVER
record.captures = [{ node = "client" }]
"""
FIRST = ("10.0.1.1", "10.0.3.2")
#: From the client's second address to the address connected to; from both addresses to the announced one.
DIRECT, ROUTED, MESHED = ("10.0.2.1", "10.0.3.2"), ("10.0.1.1", "10.0.4.2"), ("10.0.2.1", "10.0.4.2")


def _subflows(bench: Bench, client: str, server: str) -> list[CapturedSubflow]:
    """Return the subflows of the only connection; ``client`` and ``server`` are flags of their second addresses."""
    text = MESH.replace("CLIENT", _endpoints("a2", client)).replace("SERVER", _endpoints("b2", server))
    (recording,) = bench.record(text)
    analysis = Analysis()
    for packet in read_packets(list(recording.captures.values())):
        analysis.add(packet)
    (connection,) = summarise(analysis, list(recording.captures)).connections
    return list(connection.subflows)


def _endpoints(link: str, flags: str) -> str:
    return f'[{{ link = "{link}", flags = {flags.split()} }}]' if flags else '"none"'


def _pair(subflow: CapturedSubflow) -> tuple[str, str]:
    client, server = (end.rpartition(":")[0] for end in subflow.ends)
    return client, server


@pytest.mark.parametrize(
    ("flags", "silent", "announcing"),
    [
        ("", [], [ROUTED]),
        ("subflow", [DIRECT], [ROUTED, DIRECT]),
        ("fullmesh", [], [MESHED]),
        ("subflow fullmesh", [DIRECT], [MESHED, DIRECT]),
        ("backup", [], [ROUTED]),
        ("signal", [], [ROUTED]),
        ("signal subflow", [DIRECT], [ROUTED, DIRECT]),
    ],
)
def test_subflows_of_flags(
    bench: Bench, flags: str, silent: list[tuple[str, str]], announcing: list[tuple[str, str]]
) -> None:
    """``silent`` are joins with a server that announces nothing, ``announcing`` with a server that announces."""
    for server, joins in (("", silent), ("signal", announcing)):
        subflows = _subflows(bench, flags, server)
        established = [_pair(subflow) for subflow in subflows if subflow.state == "closed"]
        print(f"client {flags or 'none'}, server {server or 'none'}: {established}")
        assert sorted(established) == sorted([FIRST, *joins])
        refused = [_pair(subflow) for subflow in subflows if subflow.state == "refused"]
        assert refused == ([DIRECT] if "signal" in flags else []), "the server's join to the announced address"


def test_backup_marks_what_other_flags_open(bench: Bench) -> None:
    subflows = _subflows(bench, "subflow fullmesh backup", "signal")
    marked = {_pair(subflow): subflow.backup[0] for subflow in subflows}
    assert marked == {FIRST: False, DIRECT: True, MESHED: True}
    assert [subflow.directions[0].payload_bytes for subflow in subflows if subflow.backup[0]] == [0, 0]
