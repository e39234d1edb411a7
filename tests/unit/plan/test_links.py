# SPDX-License-Identifier: MIT
"""Links as commands: veth pairs, and the place and disciplines of each direction's shaping."""

from __future__ import annotations

import itertools

import pytest

from mptcplab.plan.compile import compile_plan
from mptcplab.plan.links import ifb_name
from mptcplab.plan.model import Plan
from mptcplab.scenario import presets
from mptcplab.scenario.network import Network
from mptcplab.scenario.schema import Scenario
from mptcplab.steps import Command

FLOW = {"kind": "flow", "from": "client", "to": "server", "duration": "10 s"}


def scenario(
    links: dict[str, dict[str, object]], *, routers: tuple[str, ...] = ("r1", "r2"), **keys: object
) -> Scenario:
    """Return two hosts, ``routers``, and ``links`` with fixed phases."""
    nodes: dict[str, object] = {"hosts": {"client": {}, "server": {}}, "routers": {name: {} for name in routers}}
    described = {"title": "t", "phases": "fixed", **nodes, "links": links, "workloads": {"bulk": FLOW}}
    return Scenario.model_validate({**described, **keys})


def plan_of(links: dict[str, dict[str, object]], *, routers: tuple[str, ...] = ("r1", "r2"), **keys: object) -> Plan:
    return compile_plan(scenario(links, routers=routers, **keys), seed=1)


def tc_commands(plan: Plan) -> list[tuple[str | None, str]]:
    """Return node and text of every ``tc`` command."""
    return [(command.node, " ".join(command.argv)) for command in plan.setup if command.argv[0] == "tc"]


def one_link(**direction: object) -> list[str]:
    """Return the disciplines of a link between two routers with these keys in its forward direction."""
    links: dict[str, dict[str, object]] = {
        "a": {"between": ["client", "r1"]},
        "link1": {"between": ["r1", "r2"], "forward": direction},
        "z": {"between": ["r2", "server"]},
    }
    commands = tc_commands(plan_of(links))
    assert {node for node, _ in commands} <= {"r1"}
    return [text.removeprefix("tc qdisc add dev link1 ") for _, text in commands]


def test_offload_sets_both_ends_and_lets_a_whole_aggregate_pass() -> None:
    """64,000 bytes in packets with all headers: 46 of them, with 114 bytes each."""
    links: dict[str, dict[str, object]] = {
        "a": {"between": ["client", "r1"], "forward": {"offload": "64 kB", "rate": "1 Gbit/s"}},
        "z": {"between": ["r1", "server"]},
    }
    plan = plan_of(links, routers=("r1",))
    texts = [(command.node, " ".join(command.argv)) for command in plan.setup]
    assert [(node, text) for node, text in texts if "gso" in text and " a " in text] == [
        ("client", "ethtool -K a tso on gso on gro off"),
        ("client", "ip link set dev a gso_max_size 64000"),
        ("r1", "ethtool -K a tso off gso off gro off"),
    ]
    assert ("r1", "tc qdisc add dev ifb.1 root handle 1: tbf rate 1000000000bit burst 69330 limit 12500000") in texts


def test_packets_may_be_larger_than_an_aggregate() -> None:
    """A jumbo frame passes although an aggregate of 3 kB is smaller: 9,000 bytes, a header, and a burst's slack."""
    forward = {"offload": "3 kB", "rate": "1 Gbit/s"}
    links: dict[str, dict[str, object]] = {
        "a": {"between": ["client", "r1"]},
        "z": {"between": ["r1", "server"], "mtu": "9000 B", "forward": forward},
    }
    (shaper,) = [text for _, text in tc_commands(plan_of(links, routers=("r1",))) if "tbf" in text]
    assert "burst 9100 " in shaper


def test_plain_link_is_not_shaped() -> None:
    assert one_link() == []


@pytest.mark.parametrize(
    ("direction", "disciplines"),
    [
        ({"delay": "20 ms"}, ["root handle 1: netem limit 1000000 delay 20000.000us"]),
        ({"delay": "1 ns"}, ["root handle 1: netem limit 1000000 delay 0.001us"]),
        ({"delay": "20 ms", "delay_limit": "1000 packets"}, ["root handle 1: netem limit 1000 delay 20000.000us"]),
        ({"delay_limit": "5 packets"}, ["root handle 1: netem limit 5"]),
        ({"loss": "0.5 %"}, ["root handle 1: netem limit 1000000 loss random 0.5%"]),
        ({"loss": "1 ppb"}, ["root handle 1: netem limit 1000000 loss random 0.0000001%"]),
        (
            {"delay": "20 ms", "jitter": "5 ms", "loss": "1 %"},
            ["root handle 1: netem limit 1000000 delay 20000.000us 5000.000us rate 1000gbit loss random 1%"],
        ),
        ({"rate": "8 Mbit/s"}, ["root handle 1: tbf rate 8000000bit burst 1600 limit 100000"]),
        ({"rate": "8 Mbit/s", "queue": "64 KiB"}, ["root handle 1: tbf rate 8000000bit burst 1600 limit 65536"]),
        (
            {"rate": "8 Mbit/s", "queue": "10 packets"},
            [
                "root handle 1: tbf rate 8000000bit burst 1600 limit 15140",
                "parent 1:1 handle 2: pfifo limit 10",
            ],
        ),
        (
            {"rate": "8 Mbit/s", "queue": "10 packets", "delay": "1 ms", "burst": "10 kB"},
            [
                "root handle 1: netem limit 1000000 delay 1000.000us",
                "parent 1:1 handle 2: tbf rate 8000000bit burst 10000 limit 15140",
                "parent 2:1 handle 3: pfifo limit 10",
            ],
        ),
        ({"rate": "10 kbit/s"}, ["root handle 1: tbf rate 10000bit burst 1600 limit 1514"]),
        ({"rate": "100 Gbit/s"}, ["root handle 1: tbf rate 100000000000bit burst 25000 limit 1250000000"]),
    ],
)
def test_disciplines(direction: dict[str, object], disciplines: list[str]) -> None:
    assert one_link(**direction) == disciplines


def test_numbers_fit_the_fields_of_tc() -> None:
    """tbf stores limit and bucket in 32 bits, and the bucket's time in 32 bits of 64 ns."""
    for rate, queue, burst in itertools.product(
        ("1 kbit/s", "1 Mbit/s", "100 Gbit/s"), ("1514 B", "1 GiB", "1000000 packets"), ("1600 B", "30 kB", None)
    ):
        direction: dict[str, object] = {"rate": rate, "queue": queue, **({"burst": burst} if burst else {})}
        words = one_link(**direction)[0].split()
        bucket, limit = (int(words[words.index(key) + 1]) for key in ("burst", "limit"))
        assert 1514 <= limit < 2**32
        assert bucket * 8 * 10**9 // int(words[words.index("rate") + 1].removesuffix("bit")) // 64 < 2**32


def test_routers_shape_what_they_send_and_what_hosts_send_to_them() -> None:
    links: dict[str, dict[str, object]] = {
        "left": {"between": ["client", "r1"], "forward": {"delay": "1 ms"}, "backward": {"delay": "2 ms"}},
        "right": {"between": ["r1", "server"]},
    }
    assert tc_commands(plan_of(links, routers=("r1",))) == [
        ("r1", "tc qdisc add dev ifb.1 root handle 1: netem limit 1000000 delay 1000.000us"),
        ("r1", "tc qdisc add dev left clsact"),
        ("r1", "tc filter add dev left ingress matchall action mirred egress redirect dev ifb.1"),
        ("r1", "tc qdisc add dev left root handle 1: netem limit 1000000 delay 2000.000us"),
    ]


def test_sender_shapes_itself_if_configured() -> None:
    links: dict[str, dict[str, object]] = {
        "left": {"between": ["client", "r1"], "forward": {"delay": "1 ms"}, "shape": "sender"},
        "right": {"between": ["r1", "server"]},
    }
    plan = plan_of(links, routers=("r1",))
    assert tc_commands(plan) == [
        ("client", "tc qdisc add dev left root handle 1: netem limit 1000000 delay 1000.000us")
    ]
    assert not any("ifb" in command.argv for command in plan.setup)
    # TCP's aggregates would be lost as a whole, and count as one packet in a queue.
    single = [(command.node, command.argv) for command in plan.setup if "gso_max_segs" in command.argv]
    assert single == [("client", ("ip", "link", "set", "dev", "left", "gso_max_segs", "1"))]


def test_hosts_are_only_shaped_at_the_far_end_of_a_direct_link() -> None:
    direction = {"rate": "8 Mbit/s", "delay": "1 ms"}
    links: dict[str, dict[str, object]] = {
        "link1": {"between": ["client", "server"], "forward": direction, "backward": direction}
    }
    plan = plan_of(links, routers=())
    for node, text in tc_commands(plan):
        assert node in ("client", "server")
        assert "dev ifb.1 " in text or "clsact" in text or "ingress" in text


@pytest.mark.parametrize("name", ["disjoint-paths", "shared-bottleneck", "chain"])
def test_hosts_are_never_shaped_in_a_routed_preset(name: str) -> None:
    tables = presets.expand(presets.Topology.model_validate({"preset": name}))
    direction = {"rate": "8 Mbit/s", "delay": "1 ms", "loss": "1 %", "queue": "10 packets"}
    for link in tables["links"].values():
        link |= {"forward": direction, "backward": direction}
    plan = compile_plan(Scenario.model_validate({"title": "t", **tables, "workloads": {"bulk": FLOW}}), seed=1)
    commands = tc_commands(plan)
    assert commands
    assert {node for node, _ in commands} <= set(tables["routers"])


def test_interfaces_have_the_links_names_and_no_offloads() -> None:
    plan = plan_of({"a": {"between": ["client", "r1"]}, "b": {"between": ["r1", "server"]}}, routers=("r1",))
    texts = [" ".join(command.argv) for command in plan.setup if command.node is None]
    assert texts == [
        "ip link add name a mtu 1500 netns client type veth peer name a netns r1",
        "ip link add name b mtu 1500 netns r1 type veth peer name b netns server",
    ]
    for node, link in (("client", "a"), ("r1", "a"), ("r1", "b"), ("server", "b")):
        assert Command(node, ("ip", "link", "set", "dev", link, "up")) in plan.setup
        assert Command(node, ("ethtool", "-K", link, "tso", "off", "gso", "off", "gro", "off")) in plan.setup


def test_interface_names_are_unique_and_short() -> None:
    names = [f"{first}{second}{'x' * length}" for first in "ab" for second in "cdef" for length in (0, 8, 9, 10, 13)]
    names += [f"a-long-link-{number:03d}" for number in range(60)] + ["ifb", "ifb1", "ifb-access1"]
    links: dict[str, dict[str, object]] = {
        name: {"between": ["client", "r1"], "forward": {"delay": "1 ms"}} for name in names
    }
    links["right"] = {"between": ["r1", "server"]}
    network = Network(scenario(links, routers=("r1",)))
    devices = [*links, *(ifb_name(network, network.ports["r1", name]) for name in names)]
    assert len(set(devices)) == len(devices)
    assert all(len(device) <= 15 for device in devices)
    setup = compile_plan(network.scenario, seed=1).setup
    created = [c.argv[4] for c in setup if c.node == "r1" and c.argv[:3] == ("ip", "link", "add")]
    assert sorted(created) == sorted(devices[len(links) :])
