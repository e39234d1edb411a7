# SPDX-License-Identifier: MIT
"""The parts of the engine ``ssh`` that need no machine: inventories, fitting, saving, clocks, what `ss` prints."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.command_output import output_of

import mptcplab_ssh
from mptcplab.engine.protocol import engine_kind
from mptcplab.errors import InputError, LabError
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.model import Plan
from mptcplab.scenario.load import load
from mptcplab.steps import Queue
from mptcplab_ssh.clock import Answer, Clock, Translation
from mptcplab_ssh.collect import to_lab_clock
from mptcplab_ssh.fitting import FittedNode, fit, link_ends
from mptcplab_ssh.inventory import MachineInventory, load_inventory
from mptcplab_ssh.saved import check_movable, parse_saved
from mptcplab_ssh.scripts import SAMPLER, files_of
from mptcplab_ssh.sockets import algorithms, parse_samples, parse_socket
from mptcplab_ssh.timeline import Fleet, RemoteTimeline

ROOT = Path(__file__).resolve().parents[4]
EXAMPLE = ROOT / "examples/ssh/inventory.toml"
SCENARIO = ROOT / "examples/ssh/two-cables.toml"
MACHINES = '[nodes.a]\nhost = "a"\ninterfaces = { one = "eth1" }\n'


def _plan(*overrides: str, file: Path = SCENARIO) -> Plan:
    return compile_plan(load(file, overrides=overrides).points[-1].scenario, seed=1)


def _fit(*overrides: str) -> dict[str, FittedNode]:
    return {part.node: part for part in fit(_plan(*overrides), load_inventory(EXAMPLE), name="inventory.toml")}


def test_the_page_shows_the_example() -> None:
    page = (ROOT / "docs/engine-ssh.md").read_text()
    (block,) = re.findall(r"```toml\n# examples/ssh/inventory.toml\n(.*?)```", page, flags=re.DOTALL)
    lines = EXAMPLE.read_text().splitlines()
    assert block.splitlines() == [line for line in lines if not line.startswith("# ")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"inventory.toml: nodes: the key is missing"),
        ("nodes = 1", r"nodes: "),
        ("[nodes.a", r"is not TOML"),
        ("[nodes.a]\n", r"nodes.a.host: the key is missing"),
        ('[nodes.a]\nhost = "-oProxyCommand=x"\n', r"nodes.a.host: is not a host for ssh"),
        ('[nodes.a]\nhost = "a"\nhots = 1\n', r"nodes.a.hots: unknown key"),
        ('[nodes.a]\nhost = "a"\ninterfaces = { one = "eth1", two = "eth1" }\n', r"the end of two links, one and two"),
        ('[nodes.a]\nhost = "a"\ninterfaces = { one = "a b" }\n', r"interfaces.one.*is not the name of an interface"),
        (f"{MACHINES}{MACHINES.replace('nodes.a', 'nodes.b')}", r"belongs to two nodes, a and b"),
        (f'lease = "1 s"\n{MACHINES}', r"lease: is not plausible"),
        (f'lease = "1 parsec"\n{MACHINES}', r"lease: "),
        (f'ssh_config = "nosuch"\n{MACHINES}', r"ssh_config: there is no file"),
        (f"{MACHINES}flow = 'flow'\n", r"nodes.a.flow: is not a path"),
        (f'{MACHINES}[nodes."a b"]\nhost = "x"\n', r"nodes.a b: is not a name for a node"),
    ],
)
def test_mistakes_are_sentences(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "inventory.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        load_inventory(file)
    assert caught.value.hint
    assert "\n" not in caught.value.message


def test_an_unknown_key_names_the_nearest(tmp_path: Path) -> None:
    file = tmp_path / "inventory.toml"
    file.write_text('[nodes.a]\nhost = "a"\n[nodes.a.interfaces]\none = { device = "eth1", shapes = true }\n')
    with pytest.raises(InputError) as caught:
        load_inventory(file)
    assert caught.value.hint == "did you mean shape?"


def test_the_engine_takes_an_inventory() -> None:
    name, kind = engine_kind(f"ssh:{EXAMPLE}")
    assert name == "ssh"
    assert not kind.capabilities.virtual_time
    with pytest.raises(InputError, match="cannot be read"):
        engine_kind("ssh:/nosuch.toml")
    with pytest.raises(InputError, match="needs an inventory"):
        engine_kind("ssh")[1].prepare("7.2", {}, stall_seconds=1)


def test_a_cluster_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The machines of an inventory are reached from here."""
    words = ("--engine", f"ssh:{EXAMPLE}", "--cluster", "local:2", "--out", tmp_path / "out")
    output = output_of(monkeypatch, capsys, "run", SCENARIO, *words)
    assert output.status == 2
    message, hint = output.err.splitlines()
    assert message.endswith(f"--cluster local:2: a cluster cannot execute runs of the engine 'ssh:{EXAMPLE}'")
    assert "leave out --cluster" in hint
    assert not (tmp_path / "out").exists()


def test_a_plan_is_divided_among_machines() -> None:
    plan, parts = _plan(), _fit()
    assert list(parts) == ["client", "server"]
    assert {link: interface.device for link, interface in parts["client"].interfaces.items()} == {
        "one": "eth1",
        "two": "eth2",
    }
    assert [program.name for program in parts["server"].programs] == ["bulk.server"]
    # Cables are there already, and only the interface that may be shaped loses its offloads.
    kept = {command.argv for command in plan.setup if command.node is not None}
    fitted = {command.argv for part in parts.values() for command in part.commands}
    offloads = [command for command in kept - fitted if command[0] == "ethtool"]
    assert sorted(offload[2] for offload in offloads) == ["one"]
    assert ("ethtool", "-K", "two", "tso", "off", "gso", "off", "gro", "off") in {
        command.argv for command in parts["server"].commands
    }
    assert not [argv for argv in fitted if "veth" in argv]
    assert set(link_ends(plan)) == {"one", "two"}


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("links.one.rate=10 Mbit/s", "shapes one at client, and the inventory does not allow that for eth1"),
        ("links.three={between = ['client', 'server']}", "which interface of client is its end of three"),
        ("hosts.other={}", "does not have the nodes other"),
        ("transport.path_manager=userspace", "no path manager of user space"),
        ("workloads.bulk.scheduler=roundrobin", "schedulers of single sockets"),
        ("neighbours=known", "leaves link-layer addresses to the machines"),
        ("hosts.client.loopback_offload=false", "leaves the offloads of loopback interfaces to the machines"),
        ("hosts.client.loopback_packet_time=1 us", "leaves the queues of loopback interfaces to the machines"),
    ],
)
def test_what_does_not_fit_is_named(override: str, message: str) -> None:
    overrides = [override]
    if "hosts.other" in override:
        overrides.append("links.three={between = ['client', 'other']}")
    with pytest.raises(InputError, match=message) as caught:
        fit(_plan(*overrides), load_inventory(EXAMPLE), name="inventory.toml")
    assert caught.value.hint


@pytest.mark.parametrize("shell", [["sh", "-n"], ["bash", "--posix", "-n"], ["busybox", "sh", "-n"]], ids=" ".join)
def test_scripts_are_valid_shell(shell: list[str]) -> None:
    if shutil.which(shell[0]) is None:
        pytest.skip(f"there is no {shell[0]}")
    plan = _plan("links.two.rate=10 Mbit/s")
    inventory = MachineInventory.model_validate(
        {
            "nodes": {
                name: {"host": name, "interfaces": {"one": "eth1", "two": {"device": "eth2", "shape": True}}}
                for name in ("client", "server")
            }
        }
    )
    for part in fit(plan, inventory, name="x"):
        files = files_of(part, back={1: ["r true"], 2: []}, lease_seconds=20, events={}, interval_ns=10**8)
        files["survey.sh"] = (Path(mptcplab_ssh.__file__).with_name("survey.sh")).read_text()
        for name, text in files.items():
            if name.endswith(".sh"):
                done = subprocess.run(shell, input=text, capture_output=True, text=True)
                assert not done.stderr, f"{name}: {done.stderr}"


ADDRESS: dict[str, Any] = {
    "ifname": "eth1",
    "flags": ["BROADCAST", "UP", "LOWER_UP"],
    "mtu": 1400,
    "gso_max_size": 40000,
    "addr_info": [
        {"family": "inet", "local": "192.0.2.1", "prefixlen": 24, "broadcast": "192.0.2.255", "scope": "global"},
        {"family": "inet", "local": "10.0.0.1", "address": "10.0.0.2", "prefixlen": 32, "scope": "global"},
        {"family": "inet6", "local": "fe80::1", "prefixlen": 64, "scope": "link"},
    ],
}


def _sections(routes: list[dict[str, Any]], **others: str) -> dict[str, str]:
    """Return the output of `survey.sh` on a node with the interface ``eth1``, by section."""
    empty = {f"{name} eth1": "" for name in ("neighbours", "features", "settings")}
    known = {"address eth1": json.dumps([ADDRESS]), "routes4": json.dumps(routes), "routes6": ""}
    return empty | known | {f"{name} eth1": text for name, text in others.items()}


def test_an_interface_gets_back_what_it_had() -> None:
    saved = parse_saved(
        "eth1",
        _sections(
            [
                {"dst": "default", "gateway": "192.0.2.9", "dev": "eth1", "table": "7", "metric": 5},
                {"dst": "10.9.0.0/16", "dev": "mgmt", "prefsrc": "192.0.2.1", "protocol": "static"},
                {"dst": "192.0.2.0/24", "dev": "eth1", "protocol": "kernel"},
                {"dst": "10.8.0.0/16", "dev": "eth0", "protocol": "static"},
                {
                    "dst": "192.0.2.9",
                    "dev": "eth1",
                    "scope": "link",
                    "type": "unicast",
                    "flags": ["onlink", "linkdown"],
                },
            ],
            neighbours='[{"dst": "192.0.2.7", "lladdr": "02:00:00:00:00:07"}]',
            features=(
                "Features for eth1:\ntcp-segmentation-offload: on\n\ttx-tcp-segmentation: on\nrx-gro-hw: off [fixed]\n"
                "generic-segmentation-offload: off [requested on]\n"
            ),
            settings="/proc/sys/net/ipv4/conf/eth1/rp_filter:2\n",
        ),
    )
    lines = saved.commands()
    assert lines[0] == "r ip link set dev eth1 mtu 1400"
    assert lines[1] == "r ip link set dev eth1 gso_max_size 40000"
    requested = "generic-segmentation-offload: off [requested on]"
    assert f"features eth1 <<'END'\n\ttx-tcp-segmentation: on\n{requested}\nEND" in lines
    assert "settings eth1 <<'END'\n/proc/sys/net/ipv4/conf/eth1/rp_filter:2\nEND" in lines
    up = lines.index("r ip link set dev eth1 up")
    assert lines.index("r ip address replace 10.0.0.1 peer 10.0.0.2/32 scope global dev eth1") > up
    default = lines.index("a ip -4 route add default via 192.0.2.9 dev eth1 table 7 metric 5")
    assert lines.index("a ip -4 route add 192.0.2.9 dev eth1 scope link onlink") < default, "it leads to the gateway"
    assert lines[-1] == "r ip neighbour replace 192.0.2.7 lladdr 02:00:00:00:00:07 dev eth1 nud permanent"
    # The kernel removes it with its source address, although it leads through another interface.
    assert "a ip -4 route add 10.9.0.0/16 dev mgmt protocol static src 192.0.2.1" in lines
    text = "\n".join(lines)
    for other in ("fe80", "10.8.0.0", "192.0.2.0/24", "rx-gro-hw", "\ntcp-segmentation-offload"):
        assert other not in text, other


@pytest.mark.parametrize("route", [{"nexthops": [{"dev": "eth1"}]}, {"dev": "eth1", "encap": "mpls"}])
def test_a_route_that_cannot_be_put_back_is_refused(route: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="could not be put back"):
        parse_saved("eth1", _sections([{"dst": "10.0.0.0/8", **route}])).commands()


@pytest.mark.parametrize(
    ("changed", "way", "message"),
    [
        ({}, "eth1", "carries the ssh connection"),
        ({"address eth1": json.dumps([{**ADDRESS, "master": "br-lan"}])}, "", "is a port of br-lan"),
        ({"sysfs eth1": "mtu upper_eth1.10"}, "", "carries other interfaces: eth1.10"),
        ({"sysfs eth1": "phy80211"}, "", "is a radio"),
        ({"qdiscs eth1": '[{"kind": "tbf", "handle": "8001:"}]'}, "", r"disciplines of its own \(tbf\)"),
    ],
)
def test_an_interface_that_must_stay_is_refused(changed: dict[str, str], way: str, message: str) -> None:
    sections = {
        "address eth1": json.dumps([ADDRESS]),
        "sysfs eth1": "mtu carrier",
        "features eth1": "",
        "qdiscs eth1": '[{"kind": "noqueue", "handle": "0:"}]',
    }
    check_movable("eth1", sections, user="eth1 of a", connected="")
    with pytest.raises(InputError, match=message):
        check_movable("eth1", sections | changed, user="eth1 of a", connected=way)


#: 100 ppm of the longest round trip drawn, and rounding.
_UNSTATED_NS = 2010


@given(
    offset=st.integers(-(10**15), 10**15),
    ppm=st.integers(-100, 100),
    delays=st.lists(st.tuples(st.integers(0, 10**7), st.integers(0, 10**7)), min_size=2, max_size=30),
)
def test_the_error_of_a_clock_is_what_is_said(offset: int, ppm: int, delays: list[tuple[int, int]]) -> None:
    """Whatever the delays of the connection, and with oscillators that drift evenly."""

    def to_remote(here: int) -> int:
        return here + offset + here * ppm // 10**6

    clock, now = Clock(), 0
    for out, back in delays:
        clock.add(Answer(now, now + out + back, to_remote(now + out)))
        now += 10**9
    here = clock.to_our_clock()
    first_moment = sum(delays[0]) // 2
    for instant in range(first_moment, now - 10**9, 10**9 // 3):
        # The stated error holds between the moments, without the drift during a question's round trip. The line's slope
        # may be wrong by the errors of two moments within a second, 1 %, and the translation follows the line.
        stated_ns = here.error_ns + here.error_ns // 90
        assert abs(here.to_here(to_remote(instant)) - instant) <= stated_ns + _UNSTATED_NS, (instant, here.error_ns)
    assert here.to_here(to_remote(0)) <= here.to_here(to_remote(10**6))


def _fixed_translation(offset: int) -> Translation:
    clock = Clock()
    clock.add(Answer(0, 0, offset))
    return clock.to_our_clock()


def test_outputs_come_to_one_clock() -> None:
    events = [
        {"event": "start", "conn": 0, "t_ns": 1100},
        {
            "event": "packets",
            "conn": 0,
            "t_ns": 1500,
            "seq": [0, 1],
            "sent_ns": [5200, 5300],
            "delay_ns": [-4000, -3900],
        },
        {"event": "end", "conn": 0, "t_ns": 1600, "first_ns": 1200, "delay_sum_ns": 0, "delay_max_ns": 0},
    ]
    text = "".join(json.dumps(event) + "\n" for event in events) + "not an event\n"
    *lines, last = to_lab_clock(text.encode(), _fixed_translation(1000), _fixed_translation(5000)).splitlines()
    start, packets, end = map(json.loads, lines)
    assert last == b"not an event"
    assert start["t_ns"] == 100
    assert (packets["sent_ns"], packets["delay_ns"]) == ([200, 300], [0, 100])
    assert (end["t_ns"], end["first_ns"], end["delay_sum_ns"], end["delay_max_ns"]) == (600, 200, 100, 100)


SS = (
    "ESTAB 0 2882312 10.0.1.1:59654 10.0.1.2:5001 cubic wscale:11,11 rto:204 rtt:1.5/0.25 mss:1448 pmtu:1500 "
    "rcvmss:536 advmss:1448 cwnd:104 ssthresh:90 bytes_sent:5000 bytes_retrans:100 bytes_acked:4800 segs_out:40 "
    "segs_in:30 data_segs_out:38 send 801Mbps lastsnd:4 pacing_rate 8000bps delivery_rate 16000bps busy:20ms "
    "rwnd_limited:5ms(25.0%) unacked:20 retrans:0/3 rcv_space:14480 notsent:900 minrtt:0.9 tcp-ulp-mptcp "
    "flags:Mmec token:0000(id:0)/7f1e2d3c(id:1) seq:0 sfseq:0 ssnoff:0 maplen:0"
)


def test_what_ss_prints() -> None:
    row = parse_socket(SS)
    expected = {
        "local": "10.0.1.1:59654", "remote": "10.0.1.2:5001", "state": 1, "protocol": "mptcp", "congestion": "cubic",
        "rto_us": 204000, "rtt_us": 1500, "rttvar_us": 250, "snd_cwnd": 104, "snd_ssthresh": 90, "bytes_acked": 4800,
        "bytes_retrans": 100, "total_retrans": 3, "pacing_rate": 1000, "delivery_rate": 2000, "busy_time_us": 20000,
        "rwnd_limited_us": 5000, "notsent_bytes": 900, "min_rtt_us": 900, "token": 0x7F1E2D3C, "id_local": 1,
    }  # fmt: skip
    assert {key: row.get(key) for key in expected} == expected
    assert parse_socket("ESTAB 0 0 [fe80::1%eth0]:22 [fe80::2]:4000 cubic")["local"] == "[fe80::1]:22"
    assert parse_socket("ESTAB 0 0 [::ffff:10.0.1.1]:22 [::ffff:10.0.1.2]:4000 cubic")["remote"] == "10.0.1.2:4000"
    assert parse_socket("garbage") == {}


def test_samples_of_sockets_and_queues() -> None:
    queue = Queue("r1", "one", 2, "one", "forward")
    kinds = json.dumps([{"kind": "tbf", "handle": "2:", "backlog": 3000, "qlen": 2, "drops": 7}])
    text = f"@ 100\n{SS}\n# one\n{kinds}\n\n@ 200\n{SS}\n# one\n{kinds}\n\n@ 300\nESTAB 0"
    samples = parse_samples(text, node="r1", queues=[queue])
    assert [row["time_ns"] for row in samples.sockets] == [100, 200]
    assert samples.queues[0] == {
        "time_ns": 100, "node": "r1", "device": "one", "link": "one", "direction": "forward",
        "bytes": 3000, "packets": 2, "drops": 7,
    }  # fmt: skip
    (socket,) = algorithms(samples.sockets)["sockets"]
    assert socket["congestion"] == ["cubic"]


@pytest.mark.parametrize(("failures", "status", "fails"), [("report", 3, False), ("report", 1, True), ("end", 3, True)])
def test_a_connection_that_fails_ends_a_run_only_if_it_is_to(failures: str, status: int, fails: bool) -> None:
    """The machine says which status a program ended with; the plan, which of them it accepts."""
    name = "bulk.client"
    agent = SimpleNamespace(
        ended={name: (status, 0), SAMPLER: (1, 0)},
        connection=SimpleNamespace(place="a"),
        last_message=lambda _: "flow: connection 0 failed: refused",
        done={},
    )
    plan = _plan(f"workloads.*.failures={failures}")
    assert name in {program.name for program in plan.programs}
    timeline = RemoteTimeline(cast(Fleet, SimpleNamespace(agents=[agent])), plan, [[] for _ in plan.events])
    with pytest.raises(LabError, match="connection 0 failed: refused") if fails else nullcontext():
        timeline._check()
