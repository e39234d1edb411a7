# SPDX-License-Identifier: MIT
"""Loading files to points and runs: bases, presets, keys shared by links and hosts, networks."""

from __future__ import annotations

import ipaddress
from pathlib import Path

import pytest
from tests.unit.scenario_files import PATHS, WORKLOAD, Write, first_scenario

from mptcplab.errors import InputError
from mptcplab.node.transport import Endpoint
from mptcplab.scenario import presets
from mptcplab.scenario.document import join_key, split_key
from mptcplab.scenario.extends import OF_EVERY_KIND
from mptcplab.scenario.keys import Written, fields_of, known_fields
from mptcplab.scenario.load import Run, load
from mptcplab.scenario.network import Network
from mptcplab.scenario.schema import Scenario
from mptcplab.units import Duration, Probability, QueueLength, Rate
from mptcplab.workload.base import WorkloadBase
from mptcplab.workload.transfer import Transfer

# -- the whole file


def test_smallest_scenario(write: Write) -> None:
    experiment = load(write(PATHS + WORKLOAD, "small.toml"))
    assert (experiment.name, experiment.title, experiment.question) == ("small", "Two paths", "")
    assert (experiment.seed, experiment.repeats, len(experiment.runs)) == (1, 1, 1)
    assert experiment.runs[0].label == "run, seed 1"


def test_points_share_seeds(write: Write) -> None:
    text = "seed = 7\nrepeats = 3\n" + PATHS + WORKLOAD + '[sweep]\n"transport.protocol" = ["tcp", "mptcp"]\n'
    runs = load(write(text)).runs
    assert [(run.point.settings["transport.protocol"], run.repeat, run.seed) for run in runs] == [
        (protocol, repeat, 7 + repeat) for protocol in ("tcp", "mptcp") for repeat in range(3)
    ]
    assert runs[4].label == "protocol mptcp, seed 8"


def test_seed_and_repeats_from_arguments_and_settings(write: Write) -> None:
    file = write("seed = 7\n" + PATHS + WORKLOAD)
    assert load(file, overrides=["seed=9", "repeats=2"]).seed == 9
    experiment = load(file, overrides=["seed=9"], seed=11, repeats=4)
    assert (experiment.seed, experiment.repeats) == (11, 4)


def test_label_names_whole_keys_when_short_ones_are_ambiguous(write: Write) -> None:
    sweep = '[[sweep.zip]]\n"links.link1.delay" = ["1 ms", "2 ms"]\n"links.link2.delay" = ["2 ms", "1 ms"]\n'
    run = load(write(PATHS + WORKLOAD + sweep)).runs[0]
    assert run.label == "links.link1.delay 1 ms, links.link2.delay 2 ms, seed 1"
    assert isinstance(run, Run)


# -- extends


def test_extending_file_overrides_its_base(write: Write) -> None:
    write(PATHS + '[links.link1]\nrate = "1 Mbit/s"\ndelay = "5 ms"\n' + WORKLOAD, "base.toml")
    file = write('extends = "base.toml"\ntitle = "Mine"\n[links.link1]\nrate = "2 Mbit/s"\n')
    scenario = first_scenario(load(file))
    assert scenario.title == "Mine"
    assert scenario.links["link1"].forward.rate == Rate(2 * 10**6)
    assert scenario.links["link1"].backward.delay == Duration(5 * 10**6)


def test_bases_of_bases_are_relative_to_their_own_folder(write: Write, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    write(PATHS + WORKLOAD, "a/ground.toml")
    write('extends = "ground.toml"\nrepeats = 2\n', "a/middle.toml")
    assert load(write('extends = "a/middle.toml"\nseed = 5\n')).repeats == 2


def test_lists_are_replaced_not_joined(write: Write) -> None:
    write(PATHS + WORKLOAD + '[transport]\ntcp_rmem = ["1 kB", "2 kB", "3 kB"]\n[sweep]\n"seeds" = 1\n', "base.toml")
    file = write('extends = "base.toml"\n[transport]\ntcp_rmem = ["4 kB", "5 kB", "6 kB"]\n[sweep]\nseeds = ["x"]\n')
    with pytest.raises(InputError, match=r"scenario.toml:5: seeds = \"x\": is not a known key"):
        load(file)


def test_another_kind_of_workload_keeps_its_hosts(write: Write) -> None:
    write(PATHS + WORKLOAD + 'read_quantum = "5 ms"\nstart = "1 s"\n', "base.toml")
    file = write('extends = "base.toml"\n[workloads.bulk]\nkind = "transfer"\nsize = "1 MB"\n')
    bulk = first_scenario(load(file)).workloads["bulk"]
    assert isinstance(bulk, Transfer)
    assert (bulk.sender, bulk.receiver, bulk.start, bulk.size) == ("client", "server", 10**9, 10**6)
    assert set(OF_EVERY_KIND) == set(fields_of(WorkloadBase))


def test_error_in_a_base_names_the_base(write: Write, tmp_path: Path) -> None:
    write(PATHS + WORKLOAD + '[links.link1]\nrate = "fast"\n', "base.toml")
    with pytest.raises(InputError) as caught:
        load(write('extends = "base.toml"\n'))
    assert caught.value.message == f'{tmp_path}/base.toml:11: links.link1.rate = "fast": is not a rate'


# -- presets


@pytest.mark.parametrize(
    ("topology", "hosts", "routers", "links"),
    [
        ('preset = "direct"', "client server", "", "link1"),
        ('preset = "chain"', "client server", "r1 r2 r3", "client-r1 link1 link2 r3-server"),
        ('preset = "chain"\nrouters = 1', "client server", "r1", "client-r1 link1"),
        ('preset = "disjoint-paths"', "client server", "r1 r2", "access1 link1 access2 link2"),
        ('preset = "disjoint-paths"\npaths = 1', "client server", "r1", "access1 link1"),
        ('preset = "shared-bottleneck"\npaths = 1', "client server client2 server2", "r1 r2",
         "access1 access-client2 bottleneck r2-server r2-server2"),
    ],
)  # fmt: skip
def test_presets(write: Write, topology: str, hosts: str, routers: str, links: str) -> None:
    scenario = first_scenario(load(write(f'title = "t"\n[topology]\n{topology}\n' + WORKLOAD)))
    assert " ".join(scenario.node_tables["hosts"]) == hosts
    assert " ".join(scenario.node_tables["routers"]) == routers
    assert " ".join(scenario.links) == links


@pytest.mark.parametrize("size", range(1, 17))
def test_presets_of_every_size(size: int) -> None:
    for sizes in ({"preset": "disjoint-paths", "paths": size}, {"preset": "chain", "routers": size},
                  {"preset": "shared-bottleneck", "paths": size}):  # fmt: skip
        tables = presets.expand(presets.Topology.model_validate(sizes))
        nodes = {**tables["hosts"], **tables["routers"]}
        assert all(end in nodes for link in tables["links"].values() for end in link["between"])
        assert all(len(name) <= 15 for name in tables["links"])


def test_preset_keeps_its_order_and_additions_of_the_file(write: Write) -> None:
    more = '[routers.r9]\n[links.link2]\nrate = "1 Mbit/s"\n[links.extra]\nbetween = ["r9", "server"]\n'
    scenario = first_scenario(load(write(PATHS + WORKLOAD + more)))
    assert list(scenario.links) == ["access1", "link1", "access2", "link2", "extra"]
    assert scenario.links["link2"].forward.rate == Rate(10**6)
    assert scenario.links["link2"].between == ("r2", "server")


# -- links and hosts


def test_key_of_a_link_applies_to_both_directions(write: Write) -> None:
    link = '[links.link1]\nrate = "8 Mbit/s"\nqueue = "10 packets"\nbackward = { rate = "1 Mbit/s", loss = "1 %" }\n'
    loaded = first_scenario(load(write(PATHS + WORKLOAD + link))).links["link1"]
    assert (loaded.forward.rate, loaded.backward.rate) == (Rate(8 * 10**6), Rate(10**6))
    assert (loaded.forward.loss, loaded.backward.loss) == (Probability(0), Probability(10**7))
    assert loaded.forward.queue == loaded.backward.queue == QueueLength.parse("10 packets")


def test_queue_of_a_link_with_a_rate_in_one_direction(write: Write) -> None:
    loaded = first_scenario(load(write(PATHS + WORKLOAD + '[links.link1]\nqueue = "1 s"\nforward.rate = "1 Mbit/s"\n')))
    assert loaded.links["link1"].backward.rate is None


def test_queue_holds_100_ms_by_default(write: Write) -> None:
    loaded = first_scenario(load(write(PATHS + WORKLOAD + '[links.link1]\nrate = "8 Mbit/s"\n'))).links["link1"]
    assert loaded.forward.queue.bytes_at(Rate(8 * 10**6)) == 100_000


def test_transport_applies_to_hosts_without_their_own(write: Write) -> None:
    text = """
    [transport]
    scheduler = "one"
    limits = { subflows = 2, add_addr_accepted = 3 }
    sysctl = { "net.ipv4.tcp_ecn" = 1 }
    [hosts.server.transport]
    scheduler = "two"
    limits = { subflows = 5 }
    sysctl = { "net.ipv4.tcp_sack" = 0 }
    """
    transports = first_scenario(load(write(PATHS + WORKLOAD + text))).transports
    client, server = transports["client"], transports["server"]
    assert (client.scheduler, server.scheduler) == ("one", "two")
    assert (client.limits.subflows, client.limits.add_addr_accepted) == (2, 3)
    assert (server.limits.subflows, server.limits.add_addr_accepted) == (5, 3)
    assert server.sysctl == {"net.ipv4.tcp_ecn": 1, "net.ipv4.tcp_sack": 0}


def test_endpoints_of_a_host_replace_the_common_ones(write: Write) -> None:
    text = '[transport]\nendpoints = "none"\n[hosts.client.transport]\nendpoints = [{ link = "access1" }]\n'
    transports = first_scenario(load(write(PATHS + WORKLOAD + text))).transports
    assert transports["server"].endpoints == "none"
    assert transports["client"].endpoints == (Endpoint(link="access1"),)


# -- networks


def test_ipv6(write: Write) -> None:
    text = 'family = "ipv6"\n' + PATHS + WORKLOAD + '[links.link2]\naddresses = ["fd01::1/64", "fd01::2/64"]\n'
    network = Network(first_scenario(load(write(text))))
    assert {port.address.version for port in network.ports.values()} == {6}
    assert network.ports["server", "link2"].ip == "fd01::2"


def test_addresses_of_different_links_never_overlap(write: Write) -> None:
    pairs = ('["client", "server"]', '["server", "third"]', '["third", "client"]')
    links = "".join(f"[links.l{n}]\nbetween = {pairs[n % 3]}\n" for n in range(300))
    for family in ("ipv4", "ipv6"):
        text = f'title = "t"\nfamily = "{family}"\n[hosts.client]\n[hosts.server]\n[hosts.third]\n{links}{WORKLOAD}'
        network = Network(first_scenario(load(write(text))))
        assert len({port.subnet for port in network.ports.values()}) == 300
        assert all(
            isinstance(port.address, ipaddress.IPv4Interface) == (family == "ipv4") for port in network.ports.values()
        )


def test_free_topology_and_parallel_links(write: Write) -> None:
    text = """
    title = "My own"
    [hosts.laptop]
    [hosts.cloud]
    [routers.left]
    [routers.right]
    [links.wifi]
    between = ["laptop", "left"]
    [links.short]
    between = ["left", "right"]
    [links.long]
    between = ["left", "right"]
    [links.cable]
    between = ["right", "cloud"]
    [workloads.bulk]
    kind = "iperf3"
    from = "cloud"
    to = "laptop"
    size = "1 GB"
    """
    scenario = first_scenario(load(write(text)))
    network = Network(scenario)
    assert network.links_of("left") == ["wifi", "short", "long"]
    target = network.target(scenario.workloads["bulk"])
    assert target == network.ports["laptop", "wifi"]
    hop = network.next_hop("right", network.ports["laptop", "wifi"])
    assert hop is not None
    assert hop.link == "short"


def test_two_direct_links(write: Write) -> None:
    text = 'title = "t"\n[topology]\npreset = "direct"\n[links.link2]\nbetween = ["client", "server"]\n' + WORKLOAD
    network = Network(first_scenario(load(write(text))))
    assert network.links_of("client") == network.links_of("server") == ["link1", "link2"]


def test_workload_via_a_link(write: Write) -> None:
    scenario = first_scenario(load(write(PATHS + WORKLOAD + 'via = "link2"\n')))
    target = Network(scenario).target(scenario.workloads["bulk"])
    assert target is not None
    assert (target.node, target.link) == ("server", "link2")


@pytest.mark.parametrize("links", ["", '[links.link1]\nrate = "10 kbit/s"\n[links.link2]\nforward.rate = "1 Mbit/s"\n'])
def test_stored_scenario_loads_as_the_same(write: Write, links: str) -> None:
    """Recordings have scenarios with all defaults written out."""
    scenario = first_scenario(load(write(PATHS + WORKLOAD + links)))
    assert Scenario.model_validate_json(scenario.model_dump_json(by_alias=True)) == scenario


# -- keys


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("links.link1.rate", ("links", "link1", "rate")),
        (" links . 'a.b' . \"c\" ", ("links", "a.b", "c")),
        ("links.*.r?te", ("links", "*", "r?te")),  # codespell:ignore te
        ('a.""', ("a", "")),
        ("", None),
        ("a.", None),
        (".a", None),
        ("a..b", None),
        ("a b", None),
        ("a[0]", None),
        ('"a', None),
    ],
)
def test_split_key(text: str, path: tuple[str, ...] | None) -> None:
    assert split_key(text) == path
    if path is not None:
        assert split_key(join_key(path)) == path


def test_known_keys_of_every_table() -> None:
    tables = {"workloads": {"bulk": {"kind": "transfer"}}}
    assert set(known_fields(tables, ())) == set(fields_of(Written))
    assert set(known_fields(tables, ("workloads", "bulk"))) == {*OF_EVERY_KIND, "failures", "kind", "size"}
    assert "checksum" in known_fields({}, ("workloads", "bulk"))
    assert set(known_fields({}, ("hosts", "a", "transport", "endpoints", 0))) == {"link", "flags", "port"}
    assert "rate" in known_fields({}, ("links", "a"))
    assert "between" not in known_fields({}, ("links", "a", "forward"))
    assert known_fields({}, ("nothing", "here")) == {}


def test_language_as_json_schema() -> None:
    schema = Written.model_json_schema()
    assert schema["additionalProperties"] is False
    assert {"topology", "transport", "sweep", "title"} <= set(schema["properties"])
