# SPDX-License-Identifier: MIT
"""Each kind of workload as programs and options, and the programs that the machine needs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from mptcplab.plan.compile import compile_plan
from mptcplab.plan.estimate import estimate_seconds
from mptcplab.plan.model import Plan
from mptcplab.scenario import presets
from mptcplab.scenario.load import load
from mptcplab.scenario.schema import Scenario
from mptcplab.workload.ftp import ftp_data_ports
from mptcplab.workload.registry import KINDS

#: The required keys of each kind; of a kind that is not listed, its smallest table.
GOALS: dict[str, dict[str, Any]] = {
    **{name: dict(kind.example) for name, kind in KINDS.items()},
    "flow": {"size": "1 MB"},
    "iperf3": {"size": "1 MB"},
    "transfer": {"size": "1 MB"},
    "http": {"size": "1 MB"},
    "ftp": {"size": "1 MB"},
    "stream": {"duration": "10 s"},
    "voip": {"duration": "10 s"},
    "udp": {"duration": "10 s", "rate": "1 Mbit/s"},
    "requests": {"duration": "10 s"},
    "web": {"duration": "10 s", "interval": "100 ms"},
}


def _scenario(kind: str, *, family: str = "ipv4", protocol: str = "mptcp", **keys: Any) -> Scenario:
    tables = presets.expand(presets.Topology.model_validate({"preset": "disjoint-paths"}))
    for host in tables["hosts"].values():
        host["transport"] = {"protocol": protocol}
    load = {"kind": kind, "from": "client", "to": "server", **GOALS[kind], **keys}
    return Scenario.model_validate({"title": "t", **tables, "family": family, "workloads": {"it": load}})


def _plan(kind: str, **keys: Any) -> Plan:
    return compile_plan(_scenario(kind, **keys), seed=7)


def _lines(plan: Plan) -> tuple[str, str]:
    """Return the command lines of server and client."""
    lines = {program.role: " ".join(program.argv) for program in plan.programs}
    return lines["server"], lines["client"]


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
@pytest.mark.parametrize("kind", GOALS)
def test_every_kind_has_a_server_and_a_client_that_know_the_port(kind: str, family: str) -> None:
    plan = _plan(kind, family=family)
    assert [(program.node, program.role) for program in plan.programs] == [("server", "server"), ("client", "client")]
    for line in _lines(plan):
        assert "5001" in line
    address = "10.0.2.2" if family == "ipv4" else "fd00:6d70:7463:2::2"
    assert address in _lines(plan)[1]
    assert plan == _plan(kind, family=family)


@pytest.mark.parametrize("kind", GOALS)
def test_the_hosts_protocol_is_that_of_the_sockets(kind: str) -> None:
    for line in _lines(_plan(kind)):
        assert ("mptcp" in line.replace("mptcplab", "")) == (kind != "udp")
    for line in _lines(_plan(kind, protocol="tcp")):
        assert "mptcp" not in line.replace("mptcplab", "")


@pytest.mark.parametrize("kind", ["stream", "voip"])
def test_a_stream_may_have_a_protocol_of_its_own(kind: str) -> None:
    load = {"kind": kind, "from": "client", "to": "server", "duration": "1 s", "protocol": "udp"}
    described = _scenario(kind).model_copy(update={"workloads": {"it": KINDS[kind].model_validate(load)}})
    for line in _lines(compile_plan(described, seed=1)):
        assert "--udp" in line
        assert "--mptcp" not in line


@pytest.mark.parametrize("kind", ["stream", "voip", "udp", "web", "requests"])
def test_workloads_that_wait_by_themselves_need_no_slow_link(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "fast.toml"
    keys = {**GOALS[kind], **({"think": "1 ms"} if kind == "requests" else {})}
    lines = "".join(f'{key} = "{value}"\n' for key, value in {"kind": kind, "from": "client", **keys}.items())
    file.write_text(f'title = "t"\ntopology.preset = "direct"\n[workloads.it]\nto = "server"\n{lines}')
    assert load(file).points


def test_a_download_serves_and_sums_one_file() -> None:
    server, client = _lines(_plan("http", size="300 MB", files=5, connections=2))
    assert "mptcplab-flow pattern --bytes 134217728 --seed 7" in server, "128 MiB are random"
    assert "truncate --size 300000000" in server, "and the rest is zeros"
    assert "exec mptcpize run lighttpd -D -f /tmp/mptcplab-it.conf" in server
    assert client.startswith("sh -c seq 5 | xargs -P 2 ")
    assert "mptcpize run curl" in client
    assert "| mptcplab-flow sum" in client
    assert "seq" not in _lines(_plan("http"))[1]


def test_ftp_has_data_ports_of_its_own() -> None:
    server, client = _lines(_plan("ftp"))
    assert "pasv_min_port=10000 pasv_max_port=10019" in server
    assert "mptcpize run mptcplab-flow with --any-address vsftpd" in server
    assert "--any-address" not in _lines(_plan("ftp", listen="address"))[0]
    assert "--any-address" not in _lines(_plan("ftp", protocol="tcp"))[0]
    assert "ftp://10.0.2.2:5001/file" in client
    ranges = [set(ftp_data_ports(5001 + number)) for number in range(1000)]
    assert len(set().union(*ranges)) == sum(map(len, ranges)), "no two workloads share one"
    assert max(map(max, ranges)) < 32768, "below the ephemeral ports"


def test_a_call_is_g711() -> None:
    """160 bytes of voice in 20 ms and 12 of RTP; 240 in 30 ms."""
    assert "--message-bytes 172 --message-ns 20000000 --log" in _lines(_plan("voip"))[1]
    assert "--message-bytes 252 --message-ns 30000000 --log" in _lines(_plan("voip", interval="30 ms"))[1]


def test_cross_traffic_has_its_rate_and_its_times() -> None:
    assert "--message-bytes 1400 --message-ns 11200000" in _lines(_plan("udp"))[1]
    assert "--on-us" not in _lines(_plan("udp"))[1]
    client = _lines(_plan("udp", on="1 s", off="500 ms", reverse=True))[1]
    assert "--on-us 1000000 --off-us 500000 --exponential --download" in client
    assert "--exponential" not in _lines(_plan("udp", on="1 s", off="500 ms", times="fixed"))[1]


def test_requests_and_flows_have_their_distributions() -> None:
    client = _lines(_plan("requests", think="50 ms", times="exponential", connections=3))[1]
    assert "--connections 3 --seconds 10 --response-bytes 10000 --think-us 50000 --exponential" in client
    assert "--sizes" not in client
    client = _lines(_plan("web", sizes="pareto", largest="1 MB"))[1]
    assert "--arrival-us 100000 --response-bytes 30000 --exponential" in client
    assert "--sizes pareto --largest-bytes 1000000 --shape-milli 1200" in client
    assert "--shape-milli 700" in _lines(_plan("web", sizes="lognormal", shape=0.7))[1]
    assert "--shape-milli" not in _lines(_plan("web", sizes="exponential"))[1]


@pytest.mark.parametrize("kind", ["http", "ftp", "stream", "voip", "requests", "web"])
def test_algorithms_apply_to_both_hosts(kind: str) -> None:
    for line in _lines(_plan(kind, congestion_control="lia", scheduler="redundant")):
        assert re.search("--congestion[= ]lia --scheduler[= ]redundant", line)


@pytest.mark.parametrize("kind", GOALS)
def test_only_programs_without_samples_of_their_own_are_sampled(kind: str) -> None:
    sampled = kind in ("iperf3", "transfer", "http", "ftp")
    assert _plan(kind).sampled == (("client", "server") if sampled else ())


def test_low_rates_have_low_costs() -> None:
    """A call of a minute has 3000 packets, a stream 6000; a lab that does nothing costs 0.2 s."""
    call, bulk = (_scenario(kind, duration="60 s") for kind in ("voip", "stream"))
    assert 0.2 < estimate_seconds(call) < 0.5
    assert estimate_seconds(call) < estimate_seconds(bulk)
    for kind in GOALS:
        assert 0.2 <= estimate_seconds(_scenario(kind)) < 60
