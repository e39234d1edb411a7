# SPDX-License-Identifier: MIT
"""Gateways in the lab: real programs between two routers, checked by the kernels' counters of all four nodes.

Programs that Debian does not have are tested where they are built: `make lab` builds the smallest of them.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.lab.bench import Bench, needs, note, tree_hash

from mptcplab.figure.words import event_marks
from mptcplab.metrics.measure import WorkloadMeasurement, measure
from mptcplab.plan.compile import compile_plan
from mptcplab.proxies.catalog import RECIPES, built_program, recipe_of
from mptcplab.recording.record import Recording

#: The type of an ELF file that runs at any address, ``ET_DYN``, and the bytes of its header that hold the type.
_ANY_ADDRESS, _ELF_TYPE = 3, slice(16, 18)
#: Payload of a full frame of 1514 bytes: 20 Mbit/s of frames carry 19.1 Mbit/s of it, both links together 28.7 Mbit/s.
_PAYLOAD = 1448 / 1514
_DSL, _SUM = 20 * _PAYLOAD, 30 * _PAYLOAD

NETWORK = """
[transport]
protocol = "tcp"

[hosts.laptop]
[hosts.web]
[routers.home.transport]
[routers.vps.transport]

[links]
lan = { between = ["laptop", "home"], delay = "0.2 ms" }
dsl = { between = ["home", "vps"], rate = "20 Mbit/s", delay = "5 ms" }
lte = { between = ["home", "vps"], rate = "10 Mbit/s", delay = "8 ms" }
wan = { between = ["vps", "web"], delay = "2 ms" }

[record]
interval = "20 ms"
"""
GATEWAY = """
[gateways.bond]
program = "shadowsocks-libev"
entry = "home"
exit = "vps"
"""
FETCH = """
[workloads.fetch]
kind = "http"
from = "laptop"
to = "web"
size = "1 MB"
"""
TEXT = "bond: TCP | MPTCP, 2 subflows, cubic | TCP"


def _record(bench: Bench, *settings: str, program: str = "shadowsocks-libev", text: str = FETCH) -> Recording:
    needs({"shadowsocks-rust": "sslocal"}.get(program, program))
    (recording,) = bench.record(NETWORK + GATEWAY + text, f"gateways.bond.program={program}", *settings)
    return recording


def _count(recording: Recording, node: str, counter: str) -> int:
    return int(recording.counter(node, "nstat.json")["kernel"][f"MPTcpExt{counter}"])


def _all_counts(recording: Recording, node: str) -> int:
    """All that a kernel counted of MPTCP."""
    counted = recording.counter(node, "nstat.json")["kernel"]
    return sum(int(number) for name, number in counted.items() if name.startswith("MPTcpExt"))


def _assert_mptcp_only_between(recording: Recording, *outside: str, connections: int = 1) -> None:
    """By the counters alone: MPTCP between the gateway's nodes, and nothing of it on the others."""
    accepted, joined = (_count(recording, "vps", name) for name in ("MPCapableACKRX", "MPJoinAckRx"))
    opened = _count(recording, "home", "MPCapableSYNACKRX")
    print(f"home opened {opened}, vps accepted {accepted} MPTCP connections and {joined} additional subflows")
    assert opened == accepted >= connections
    assert joined >= connections
    assert {node: _all_counts(recording, node) for node in outside} == dict.fromkeys(outside, 0)


def _only_workload(recording: Recording) -> WorkloadMeasurement:
    (measured,) = measure(recording)
    return measured


@pytest.mark.parametrize("program", ["shadowsocks-libev", "go-shadowsocks2", "shadowsocks-rust", "xray", "openvpn"])
def test_a_download_takes_both_paths_and_neither_host_knows(bench: Bench, program: str) -> None:
    """Of the proxies at least 85 % of what both links carry: slow start takes a tenth of 3 MB."""
    recording = _record(bench, "workloads.fetch.size=3 MB", program=program)
    measured = _only_workload(recording)
    mbps = measured.goodput_bps / 1e6
    print(f"{program}: {mbps:.2f} of {_SUM:.2f} Mbit/s, {measured.sockets.shares}")
    note(f"gateway {program} Mbit/s", mbps)
    (use,) = measured.gateways
    assert (use.text, measured.warnings) == (TEXT, ())
    assert measured.sockets.use.text == "no"
    _assert_mptcp_only_between(recording, "laptop", "web")
    assert mbps < _SUM
    if program == "openvpn":
        # Connections in a tunnel have their own slow start, and wait for each lost packet of any path.
        assert measured.sockets.shares["lte"] > 0.15
    else:
        assert mbps > 0.85 * _SUM


@pytest.mark.parametrize("binary", [binary for recipe in RECIPES.values() for binary in recipe.binaries])
def test_a_built_proxy_runs_at_any_address(binary: str) -> None:
    """Of several programs that need the same addresses, only one can run in the lab kernel's process."""
    needs(binary)
    recipe = recipe_of(binary)
    assert recipe is not None
    path = built_program(recipe, binary)
    assert path is not None
    assert int.from_bytes(path.read_bytes()[_ELF_TYPE], "little") == _ANY_ADDRESS


def test_over_tcp_the_same_programs_have_one_path(bench: Bench) -> None:
    recording = _record(bench, "gateways.bond.protocol=tcp")
    measured = _only_workload(recording)
    print(f"TCP: {measured.goodput_bps / 1e6:.2f} of {_DSL:.2f} Mbit/s")
    assert [gateway.text for gateway in measured.gateways] == ["bond: TCP | TCP, cubic | TCP"]
    assert measured.sockets.shares == {"dsl": 1.0}
    assert measured.goodput_bps / 1e6 < _DSL
    assert measured.warnings == ()
    assert [_all_counts(recording, node) for node in ("laptop", "home", "vps", "web")] == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("program", "kind", "family", "firewall"),
    [
        ("shadowsocks-libev", "ftp", "ipv4", "iptables"),
        ("shadowsocks-libev", "http", "ipv6", "iptables"),
        ("shadowsocks-libev", "ftp", "ipv6", "nft"),
        ("go-shadowsocks2", "http", "ipv6", "nft"),
        ("openvpn", "ftp", "ipv6", ""),
    ],
)
def test_firewalls_families_and_ftp(bench: Bench, program: str, kind: str, family: str, firewall: str) -> None:
    """FTP has a control connection, which passes the gateway as well."""
    changes = (f"gateways.bond.firewall={firewall}",) if firewall else ()
    recording = _record(bench, f"workloads.fetch.kind={kind}", f"family={family}", *changes, program=program)
    measured = _only_workload(recording)
    print(measured.goodput_bps / 1e6, measured.warnings)
    assert [gateway.text for gateway in measured.gateways] == [TEXT]
    assert measured.warnings == ()
    _assert_mptcp_only_between(recording, "laptop", "web")


LOCAL = """
[workloads.fetch]
kind = "http"
from = "home"
to = "web"
through = "bond"
size = "1 MB"

[workloads.more]
kind = "http"
from = "home"
to = "web"
through = "bond"
size = "2 MB"
"""


@pytest.mark.parametrize(("version", "wait"), [("0.0.11", 0), ("0.1.5", 10)])
def test_when_a_release_closes_finished_connections(bench: Bench, version: str, wait: int) -> None:
    """FTP's client waits for the end of the data connection: 0.1.5 waits 5 s at each side before it closes one."""
    needs({"0.0.11": "go-shadowsocks2-0.0.11"}.get(version, "go-shadowsocks2"))
    ftp = FETCH.replace("http", "ftp")
    recording = _record(bench, f"gateways.bond.version={version}", program="go-shadowsocks2", text=ftp)
    (measured,) = measure(recording)
    assert [gateway.text for gateway in measured.gateways] == [TEXT]
    # 1 MB over 28.7 Mbit/s of payload takes 0.3 s at least; slow start and FTP's commands take a second at most.
    assert wait + 0.3 < measured.duration_s < wait + 1.3, measured.duration_s


@pytest.mark.parametrize(("program", "family"), [("shadowsocks-libev", "ipv4"), ("go-shadowsocks2", "ipv6")])
def test_two_workloads_speak_socks_at_once(bench: Bench, program: str, family: str) -> None:
    """Their sockets are told apart by the loopback addresses that they use: each has its own bytes."""
    settings = ("gateways.bond.mode=local", f"family={family}")
    recording = _record(bench, *settings, program=program, text=LOCAL)
    fetch, more = measure(recording)
    print(fetch.goodput_bps / 1e6, more.goodput_bps / 1e6)
    for workload, megabytes in ((fetch, 1), (more, 2)):
        assert [use.text for use in workload.gateways] == [TEXT]
        assert workload.warnings == ()
        assert workload.goodput_bps * workload.duration_s == pytest.approx(8e6 * megabytes)
        assert workload.sockets.use.connections == 1
    assert _count(recording, "vps", "MPCapableACKRX") == 2
    assert _all_counts(recording, "web") == 0


def test_the_entry_is_the_client_itself(bench: Bench) -> None:
    """A host with two access links, an upload, and rules for what it sends itself."""
    text = NETWORK.replace("[routers.home.transport]", "[hosts.home]").replace("[hosts.laptop]\n", "")
    text = "\n".join(line for line in text.splitlines() if not line.startswith("lan ="))
    upload = '[workloads.send]\nkind = "flow"\nfrom = "home"\nto = "web"\nsize = "2 MB"\n'
    (recording,) = bench.record(f"{text}\n{GATEWAY}{upload}")
    measured = _only_workload(recording)
    print(measured.goodput_bps / 1e6, measured.sockets.shares)
    assert [gateway.text for gateway in measured.gateways] == [TEXT]
    assert measured.warnings == ()
    assert measured.sockets.shares["lte"] > 0.15
    _assert_mptcp_only_between(recording, "web")


@pytest.mark.parametrize(
    ("program", "server_side"),
    [("shadowsocks-libev", "MPTCP"), ("shadowsocks-rust", "MPTCP"), ("go-shadowsocks2", "TCP"), ("xray", "TCP")],
)
def test_programs_differ_in_what_they_ask_servers_for(bench: Bench, program: str, server_side: str) -> None:
    """A server that speaks MPTCP: mptcpize and the option of shadowsocks-rust cover the exit's other side as well."""
    recording = _record(bench, "hosts.web.transport.protocol=mptcp", "workloads.fetch.size=300 kB", program=program)
    measured = _only_workload(recording)
    (use,) = measured.gateways
    print(use.text, measured.warnings)
    assert (use.client_side, use.inner, use.server_side) == ("TCP", "MPTCP", server_side)
    assert _count(recording, "web", "MPCapableACKRX") == int(server_side == "MPTCP")
    warning = "gateway bond: the connection on the server's side is MPTCP as well"
    assert (warning in measured.warnings) == (server_side == "MPTCP")


def test_a_client_that_speaks_mptcp_is_answered_by_tcp(bench: Bench) -> None:
    """The listener of go-shadowsocks2 is plain TCP, so that it learns the destination; the user is told."""
    recording = _record(bench, "hosts.laptop.transport.protocol=mptcp", program="go-shadowsocks2")
    measured = _only_workload(recording)
    assert [gateway.text for gateway in measured.gateways] == [TEXT]
    assert measured.sockets.use.text == "fell back"
    assert measured.warnings == ("1 of 1 connections fell back to TCP",)
    assert _count(recording, "laptop", "MPCapableFallbackSYNACK") == 1
    assert _all_counts(recording, "web") == 0


#: A phone that speaks MPTCP and is its own entry, a server that speaks MPTCP, and a server that does not.
PHONE = """
[transport]
protocol = "tcp"

[hosts.phone.transport]
protocol = "mptcp"
[hosts.web.transport]
protocol = "mptcp"
[hosts.old]
[routers.vps.transport]

[links]
wifi = { between = ["phone", "vps"], rate = "20 Mbit/s", delay = "5 ms" }
lte = { between = ["phone", "vps"], rate = "10 Mbit/s", delay = "8 ms" }
wan = { between = ["vps", "web"], delay = "2 ms" }
far = { between = ["vps", "old"], delay = "2 ms" }

[gateways.bond]
program = "go-shadowsocks2"
entry = "phone"
exit = "vps"
via = "wifi"
pass_through = true

[workloads.new]
kind = "http"
from = "phone"
to = "web"
size = "1 MB"

[workloads.plain]
kind = "http"
from = "phone"
to = "old"
size = "1 MB"
start = "3 s"
"""


@pytest.mark.parametrize(("firewall", "family"), [("nft", "ipv4"), ("iptables", "ipv4"), ("nft", "ipv6")])
def test_mptcp_passes_to_a_server_that_speaks_it(bench: Bench, firewall: str, family: str) -> None:
    """That server itself counts the phone's connection and its further subflow; the other one sees the proxy's TCP."""
    needs("go-shadowsocks2")
    (recording,) = bench.record(PHONE, f"gateways.bond.firewall={firewall}", f"family={family}")
    new, plain = measure(recording)
    print(new.sockets.use.text, new.sockets.shares, [use.text for use in plain.gateways])
    assert new.gateways == ()
    assert new.sockets.use.text == "2 subflows"
    # The phone's own address reaches the server: a proxy's connection would come from the exit.
    at_web = {
        row["remote"].rpartition(":")[0].strip("[]") for row in recording.subflows.to_dicts() if row["node"] == "web"
    }
    phone = {address for address, at in recording.manifest["addresses"].items() if at["node"] == "phone"}
    assert at_web == phone
    assert _count(recording, "web", "MPCapableACKRX") == 1
    assert _count(recording, "web", "MPJoinAckRx") == 1
    (use,) = plain.gateways
    assert (use.inner, use.server_side) == ("MPTCP", "TCP")
    assert plain.sockets.use.text == "fell back", "the proxy's listener speaks plain TCP"
    reasons = {finding.reason for row in (new, plain) for finding in row.reasons}
    assert "synack-option-stripped" not in reasons, "the proxy answers, and removes nothing on the way"
    assert _all_counts(recording, "old") == 0


def test_without_pass_through_the_same_connection_goes_through_the_proxy(bench: Bench) -> None:
    needs("go-shadowsocks2")
    (recording,) = bench.record(PHONE, "gateways.bond.pass_through=false")
    new, plain = measure(recording)
    assert [(use.inner, use.server_side) for row in (new, plain) for use in row.gateways] == [("MPTCP", "TCP")] * 2
    assert _count(recording, "web", "MPCapableACKRX") == 0


TUNNEL = """
[workloads.fetch]
kind = "{}"
from = "home"
to = "web"
through = "bond"
size = "1 MB"
"""


@pytest.mark.parametrize(
    ("program", "kind", "family"),
    [
        ("shadowsocks-libev", "http", "ipv4"),
        ("shadowsocks-libev", "flow", "ipv6"),
        ("go-shadowsocks2", "flow", "ipv4"),
        ("go-shadowsocks2", "http", "ipv6"),
    ],
)
def test_a_tunnel_leads_one_port_to_one_server(bench: Bench, program: str, kind: str, family: str) -> None:
    """No firewall and no SOCKS: the client connects to the entry, and the server is connected only to the exit."""
    settings = ("gateways.bond.mode=tunnel", f"family={family}")
    recording = _record(bench, *settings, program=program, text=TUNNEL.format(kind))
    measured = _only_workload(recording)
    print(measured.goodput_bps / 1e6, [use.text for use in measured.gateways], measured.warnings)
    assert [use.text for use in measured.gateways] == [TEXT]
    assert measured.warnings == ()
    assert measured.sockets.shares["lte"] > 0.15
    assert _count(recording, "vps", "MPCapableACKRX") == 1
    assert _all_counts(recording, "web") == 0
    at_web = {
        row["remote"].rpartition(":")[0].strip("[]") for row in recording.subflows.to_dicts() if row["node"] == "web"
    }
    assert {recording.manifest["addresses"][address]["node"] for address in at_web} == {"vps"}


#: Kills of each side during downloads, and a download that begins 100 ms after each.
OUTAGES = """
[workloads.fetch]
kind = "http"
from = "laptop"
to = "web"
size = "300 kB"
files = 12
retries = 30

[workloads.after_exit]
kind = "http"
from = "laptop"
to = "web"
size = "100 kB"
start = "600 ms"
retries = 30

[workloads.after_entry]
kind = "http"
from = "laptop"
to = "web"
size = "100 kB"
start = "1.6 s"
retries = 30
"""
KILLS = 'gateways.bond.outages=[{side="exit",at="500 ms",downtime="300 ms"},{side="entry",at="1500 ms"}]'
_KILLED_S = {"after_exit": 0.5, "after_entry": 1.5}
#: New connections have to work this long after a kill.
_MAX_S = 2.0


def _end_s(recording: Recording, workload: str) -> float:
    return float(recording.program(f"{workload}.client")["end_ns"] / 1e9)


@pytest.mark.parametrize("program", ["shadowsocks-libev", "go-shadowsocks2", "openvpn"])
def test_each_side_is_killed_and_started_again(bench: Bench, program: str) -> None:
    """New connections work soon, every file arrives whole, and the report names the events and has the gap."""
    recording = _record(bench, KILLS, "phases=fixed", program=program, text=OUTAGES)
    measured = {measurement.workload: measurement for measurement in measure(recording)}
    for workload, killed in _KILLED_S.items():
        late = _end_s(recording, workload) - killed
        broken = measured[workload].metrics["broken_downloads"]
        note(f"gateway {program} {workload} s", late)
        print(f"{program}: a new download of 100 kB was there {late:.2f} s after the kill, {broken:g} attempts broke")
        assert late < _MAX_S
    fetch = measured["fetch"]
    print(f"{program}: {fetch.metrics['broken_downloads']:g} of 12 broke, longest gap {fetch.metrics['gap_s']:.2f} s")
    assert fetch.goodput_bps * fetch.duration_s == pytest.approx(8 * 12 * 300e3), "all files, each once and whole"
    assert fetch.metrics["gap_s"] > 0.1
    assert [mark.text for mark in event_marks(recording)] == [
        "gateway bond: exit killed",
        "gateway bond: exit started again",
        "gateway bond: entry restarted",
    ]
    assert _all_counts(recording, "laptop") == _all_counts(recording, "web") == 0


def test_the_same_seed_gives_the_same_bytes(bench: Bench) -> None:
    """Keys, kills and retries included."""
    experiment = bench.experiment(NETWORK + GATEWAY + OUTAGES, KILLS, "phases=fixed")
    folders = [bench.try_all(experiment, out=out)[0].folder for out in ("first", "second")]
    hashes = {tree_hash(folder) for folder in folders if folder is not None}
    assert len(hashes) == 1


HALF_CLOSED = """
[workloads.upload]
kind = "flow"
from = "laptop"
to = "web"
size = "2 MB"
timeout = "30 s"
"""
#: The proxy takes all of the upload into its receive buffer within a second, and needs 16 s to send it.
_HALF_CLOSED_SETTINGS = (
    "links.dsl.rate=1 Mbit/s",
    "gateways.bond.via=dsl",
    "gateways.bond.protocol=tcp",
    'routers.home.transport.tcp_rmem=["4 KiB", "6 MiB", "6 MiB"]',
    'routers.home.transport.tcp_wmem=["4 KiB", "16 KiB", "64 KiB"]',
)


def test_a_redirection_is_forgotten_while_a_proxy_drains(bench: Bench) -> None:
    """The client has closed its side. Connection tracking keeps such a connection for a time (60 s, or 120 s if the FIN
    came twice; 5 s here), after which the proxy's FIN leaves with the proxy's address: the client refuses it and waits
    for ever."""
    states = ("close_wait", "last_ack", "time_wait")
    keys = [f'routers.home.transport.sysctl."net.netfilter.nf_conntrack_tcp_timeout_{state}"' for state in states]
    remembered = _record(bench, *_HALF_CLOSED_SETTINGS, *(f"{key}=30" for key in keys), text=HALF_CLOSED)
    took_s = (remembered.manifest["virtual_ns"] - remembered.manifest["zero_ns"]) / 1e9
    assert 2e6 * 8 / 1e6 < took_s < 22, "as long as the line needs"
    assert remembered.counter("laptop", "nstat.json")["kernel"]["TcpOutRsts"] == 0

    experiment = bench.experiment(
        NETWORK + GATEWAY + HALF_CLOSED, *_HALF_CLOSED_SETTINGS, *(f"{key}=5" for key in keys)
    )
    (done,) = bench.try_all(experiment)
    assert done.error is not None
    assert done.error.message == "upload.client did not end within its timeout of 30 s"
    (left,) = (bench.folder / "results" / "failed").iterdir()
    counters = json.loads((left / "counters" / "laptop" / "nstat.json").read_text())["kernel"]
    assert counters["TcpOutRsts"] == 1, "its answer to the FIN of an unknown connection"
    assert '"event":"end"' in (left / "out" / "upload.server.out").read_text(), "the server has all data"


def test_an_end_that_nobody_planned_fails_the_run(bench: Bench) -> None:
    """The shell that starts a program again after an outage does so for none that ends by itself."""
    experiment = bench.experiment(NETWORK + GATEWAY + FETCH, 'gateways.bond.outages=[{side="entry",at="9 s"}]')
    plan = compile_plan(experiment.points[0].scenario, seed=1)
    broken = [
        replace(program, argv=(*program.argv[:2], program.argv[2].replace("ss-redir -c", "ss-redir --nonsense -c")))
        for program in plan.programs
        if program.name == "gateway.entry-bond"
    ]
    others = [program for program in plan.programs if program.name != "gateway.entry-bond"]
    error = bench.fail(replace(plan, programs=(*broken, *others)))
    print(error.message)
    assert "gateway.entry-bond" in error.message
