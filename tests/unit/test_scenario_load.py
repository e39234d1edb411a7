# SPDX-License-Identifier: MIT
"""Loading files to points and runs: bases, presets, keys shared by links and hosts, sweeps, ``--set``."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from pathlib import Path

import pytest

from mptcplab.errors import InputError
from mptcplab.node.transport import Endpoint
from mptcplab.scenario import preset
from mptcplab.scenario.document import dotted, split_key
from mptcplab.scenario.extends import OF_EVERY_KIND
from mptcplab.scenario.keys import Written, fields_of, known_fields
from mptcplab.scenario.load import Experiment, Run, load
from mptcplab.scenario.network import Network
from mptcplab.scenario.schema import Scenario
from mptcplab.units import Duration, Probability, QueueLength, Rate, Size
from mptcplab.workload.base import WorkloadBase
from mptcplab.workload.flow import Flow
from mptcplab.workload.transfer import Transfer

WORKLOAD = """
[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
size = "10 MB"
"""
PATHS = 'title = "Two paths"\n[topology]\npreset = "disjoint-paths"\n'

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a scenario file and return its path."""

    def write_file(text: str, name: str = "scenario.toml") -> Path:
        file = tmp_path / name
        file.write_text(text)
        return file

    return write_file


def one(experiment: Experiment) -> Scenario:
    assert len(experiment.points) == 1
    return experiment.points[0].scenario


def settings_of(experiment: Experiment) -> list[tuple[str, ...]]:
    return [tuple(point.settings.values()) for point in experiment.points]


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
    scenario = one(load(file))
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
    bulk = one(load(file)).workloads["bulk"]
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
    scenario = one(load(write(f'title = "t"\n[topology]\n{topology}\n' + WORKLOAD)))
    assert " ".join(scenario.node_tables["hosts"]) == hosts
    assert " ".join(scenario.node_tables["routers"]) == routers
    assert " ".join(scenario.links) == links


@pytest.mark.parametrize("size", range(1, 17))
def test_presets_of_every_size(size: int) -> None:
    for sizes in ({"preset": "disjoint-paths", "paths": size}, {"preset": "chain", "routers": size},
                  {"preset": "shared-bottleneck", "paths": size}):  # fmt: skip
        tables = preset.expand(preset.Topology.model_validate(sizes))
        nodes = {**tables["hosts"], **tables["routers"]}
        assert all(end in nodes for link in tables["links"].values() for end in link["between"])
        assert all(len(name) <= 15 for name in tables["links"])


def test_preset_keeps_its_order_and_additions_of_the_file(write: Write) -> None:
    more = '[routers.r9]\n[links.link2]\nrate = "1 Mbit/s"\n[links.extra]\nbetween = ["r9", "server"]\n'
    scenario = one(load(write(PATHS + WORKLOAD + more)))
    assert list(scenario.links) == ["access1", "link1", "access2", "link2", "extra"]
    assert scenario.links["link2"].forward.rate == Rate(10**6)
    assert scenario.links["link2"].between == ("r2", "server")


# -- links and hosts


def test_key_of_a_link_applies_to_both_directions(write: Write) -> None:
    link = '[links.link1]\nrate = "8 Mbit/s"\nqueue = "10 packets"\nbackward = { rate = "1 Mbit/s", loss = "1 %" }\n'
    loaded = one(load(write(PATHS + WORKLOAD + link))).links["link1"]
    assert (loaded.forward.rate, loaded.backward.rate) == (Rate(8 * 10**6), Rate(10**6))
    assert (loaded.forward.loss, loaded.backward.loss) == (Probability(0), Probability(10**7))
    assert loaded.forward.queue == loaded.backward.queue == QueueLength.parse("10 packets")


def test_queue_of_a_link_with_a_rate_in_one_direction(write: Write) -> None:
    loaded = one(load(write(PATHS + WORKLOAD + '[links.link1]\nqueue = "1 s"\nforward.rate = "1 Mbit/s"\n')))
    assert loaded.links["link1"].backward.rate is None


def test_queue_holds_100_ms_by_default(write: Write) -> None:
    loaded = one(load(write(PATHS + WORKLOAD + '[links.link1]\nrate = "8 Mbit/s"\n'))).links["link1"]
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
    transports = one(load(write(PATHS + WORKLOAD + text))).transports
    client, server = transports["client"], transports["server"]
    assert (client.scheduler, server.scheduler) == ("one", "two")
    assert (client.limits.subflows, client.limits.add_addr_accepted) == (2, 3)
    assert (server.limits.subflows, server.limits.add_addr_accepted) == (5, 3)
    assert server.sysctl == {"net.ipv4.tcp_ecn": 1, "net.ipv4.tcp_sack": 0}


def test_endpoints_of_a_host_replace_the_common_ones(write: Write) -> None:
    text = '[transport]\nendpoints = "none"\n[hosts.client.transport]\nendpoints = [{ link = "access1" }]\n'
    transports = one(load(write(PATHS + WORKLOAD + text))).transports
    assert transports["server"].endpoints == "none"
    assert transports["client"].endpoints == (Endpoint(link="access1"),)


# -- sweeps

AXES = """
[sweep]
"transport.protocol" = ["tcp", "mptcp"]
"links.link*.rate" = ["1 Mbit/s", "2 Mbit/s"]
[[sweep.zip]]
"links.link1.delay" = ["1 ms", "2 ms", "3 ms"]
"links.link2.delay" = ["3 ms", "2 ms", "1 ms"]
"""


def test_points_are_a_cross_product_and_the_last_axis_is_fastest(write: Write) -> None:
    experiment = load(write(PATHS + WORKLOAD + AXES))
    assert settings_of(experiment) == [
        (protocol, rate, delay, other)
        for protocol in ("tcp", "mptcp")
        for rate in ("1 Mbit/s", "2 Mbit/s")
        for delay, other in (("1 ms", "3 ms"), ("2 ms", "2 ms"), ("3 ms", "1 ms"))
    ]
    assert list(experiment.points[0].settings) == [
        "transport.protocol",
        "links.link*.rate",
        "links.link1.delay",
        "links.link2.delay",
    ]


def test_wildcard_sets_every_match(write: Write) -> None:
    for point in load(write(PATHS + WORKLOAD + AXES)).points:
        rates = [link.forward.rate for name, link in point.scenario.links.items() if name.startswith("link")]
        assert rates == [Rate.parse(point.settings["links.link*.rate"])] * 2
        assert point.scenario.links["access1"].forward.rate is None


def test_sweep_replaces_the_value_in_the_file(write: Write) -> None:
    text = PATHS + WORKLOAD + '[links.link1]\ndelay = "9 ms"\n[sweep]\n"links.link1.delay" = ["1 ms"]\n'
    assert one(load(write(text))).links["link1"].forward.delay == Duration(10**6)


def test_sweep_of_the_topology(write: Write) -> None:
    sweep = '[sweep]\n"topology.paths" = [1, 2, 4]\n"links.link*.rate" = ["8 Mbit/s"]\n'
    points = load(write(PATHS + WORKLOAD + sweep)).points
    assert [len(point.scenario.node_tables["routers"]) for point in points] == [1, 2, 4]
    assert [point.settings["topology.paths"] for point in points] == ["1", "2", "4"]
    assert points[2].scenario.links["link4"].forward.rate == Rate(8 * 10**6)


def test_sweep_of_presets(write: Write) -> None:
    sweep = '[sweep]\n"topology.preset" = ["direct", "chain"]\n'
    points = load(write(PATHS + WORKLOAD + sweep)).points
    assert [len(point.scenario.node_tables["routers"]) for point in points] == [0, 3]


def test_sweep_of_lists_and_tables(write: Write) -> None:
    sweep = """[sweep]
    "transport.tcp_rmem" = [["1 kB", "2 kB", "3 kB"], ["4 kB", "5 kB", "6 kB"]]
    "links.link1.forward" = [{ delay = "1 ms" }, { delay = "2 ms" }]
    "workloads.bulk.checksum" = [true, false]
    'transport.sysctl."net.ipv4.tcp_ecn"' = [0, 1]
    """
    experiment = load(write(PATHS + WORKLOAD + sweep))
    assert len(experiment.points) == 16
    assert settings_of(experiment)[0] == ('["1 kB", "2 kB", "3 kB"]', '{ delay = "1 ms" }', "true", "0")
    assert experiment.points[-1].scenario.transports["client"].sysctl == {"net.ipv4.tcp_ecn": 1}


# -- --set


def test_setting_overrides_the_file(write: Write) -> None:
    file = write(PATHS + WORKLOAD + '[links.link1]\nrate = "1 Mbit/s"\n')
    overrides = ["links.link1.rate=3 Mbit/s", "title=Other", "workloads.bulk.connections = 5", "topology.paths=3"]
    scenario = one(load(file, overrides=[*overrides, "workloads.bulk.checksum=true", "kernel=7.3"]))
    assert scenario.links["link1"].forward.rate == Rate(3 * 10**6)
    assert (scenario.title, scenario.kernel, len(scenario.node_tables["routers"])) == ("Other", "7.3", 3)
    bulk = scenario.workloads["bulk"]
    assert isinstance(bulk, Flow)
    assert (bulk.connections, bulk.checksum) == (5, True)


def test_values_of_settings_are_toml_if_they_look_like_it(write: Write) -> None:
    file = write(PATHS + WORKLOAD)
    rmem = 'transport.tcp_rmem=["4 KiB", "128 KiB", "6 MiB"]'
    endpoints = 'hosts.client.transport.endpoints=[{ link = "access2", flags = ["backup"] }]'
    scenario = one(load(file, overrides=[rmem, endpoints, 'kernel="7"']))
    assert scenario.transports["server"].tcp_rmem == (Size(4096), Size(131072), Size(6 << 20))
    assert scenario.transports["client"].endpoints == (Endpoint(link="access2", flags=("backup",)),)
    assert scenario.kernel == "7"


def test_later_settings_take_precedence(write: Write) -> None:
    assert one(load(write(PATHS + WORKLOAD), overrides=["title=a", "title=b=c"])).title == "b=c"


@pytest.mark.parametrize("key", ["links.link1.rate", "links.*.rate", "links.link?.rate", "links.link1"])
def test_setting_removes_the_axis_that_it_covers(write: Write, key: str) -> None:
    sweep = '[sweep]\n"links.link1.rate" = ["1 Mbit/s", "2 Mbit/s"]\n"transport.protocol" = ["tcp", "mptcp"]\n'
    value = '{ rate = "9 Mbit/s", between = ["r1", "server"] }' if key == "links.link1" else "9 Mbit/s"
    experiment = load(write(PATHS + WORKLOAD + sweep), overrides=[f"{key}={value}"])
    assert settings_of(experiment) == [("tcp",), ("mptcp",)]
    assert experiment.points[0].scenario.links["link1"].forward.rate == Rate(9 * 10**6)


def test_setting_overrides_an_axis_of_several_keys(write: Write) -> None:
    sweep = '[sweep]\n"links.link*.rate" = ["1 Mbit/s", "2 Mbit/s"]\n'
    points = load(write(PATHS + WORKLOAD + sweep), overrides=["links.link1.rate=9 Mbit/s"]).points
    rates = [[point.scenario.links[name].forward.rate for name in ("link1", "link2")] for point in points]
    assert rates == [[9 * 10**6, 10**6], [9 * 10**6, 2 * 10**6]]


def test_setting_leaves_the_rest_of_a_zip(write: Write) -> None:
    one_line, other = '"links.link1.delay" = ["1 ms", "1 ms", "2 ms"]', '"links.link2.delay" = ["1 ms", "2 ms", "3 ms"]'
    file = write(PATHS + WORKLOAD + f"[[sweep.zip]]\n{one_line}\n{other}\n")
    assert settings_of(load(file, overrides=["links.link2.delay=7 ms"])) == [("1 ms",), ("2 ms",)]


def test_a_list_on_the_command_line_is_an_axis(write: Write) -> None:
    sweep = '[sweep]\n"transport.scheduler" = ["default", "blest", "ecf"]\n"transport.protocol" = ["tcp", "mptcp"]\n'
    file = write(PATHS + WORKLOAD + sweep)
    narrowed = load(file, overrides=['transport.scheduler=["ecf", "default"]'])
    assert settings_of(narrowed) == [("ecf", "tcp"), ("ecf", "mptcp"), ("default", "tcp"), ("default", "mptcp")]
    wider = load(file, overrides=['links.link1.delay=["1 ms", "2 ms"]', "transport.scheduler=blest"])
    assert list(wider.points[0].settings) == ["transport.protocol", "links.link1.delay"]
    assert len(wider.points) == 4
    assert wider.changes == ('links.link1.delay = ["1 ms", "2 ms"]', "transport.scheduler = blest")


def test_the_later_of_axis_and_value_counts(write: Write) -> None:
    axis, value = 'transport.scheduler=["ecf", "default"]', "transport.scheduler=blest"
    file = write(PATHS + WORKLOAD)
    assert len(load(file, overrides=[axis, value]).points) == 1
    assert len(load(file, overrides=[value, axis]).points) == 2


def test_a_key_that_takes_a_list_is_swept_by_lists(write: Write) -> None:
    file = write(PATHS + WORKLOAD)
    value = 'transport.tcp_rmem=["4 KiB", "128 KiB", "6 MiB"]'
    assert len(load(file, overrides=[value]).points) == 1
    axis = 'transport.tcp_rmem=[["4 KiB", "128 KiB", "6 MiB"], ["4 KiB", "64 KiB", "3 MiB"]]'
    assert len(load(file, overrides=[axis]).points) == 2


@pytest.mark.parametrize(
    ("value", "points"),
    [
        ('[{ link = "access1" }]', 1),
        ("[]", 1),
        ('["auto", "none"]', 2),
        ('["none", [{ link = "access1" }]]', 2),
        ('[[{ link = "access1" }], [{ link = "access2" }], "fullmesh"]', 3),
    ],
)
@pytest.mark.parametrize("node", ["client", "clien?"])
def test_a_key_that_takes_a_list_or_a_choice(write: Write, value: str, points: int, node: str) -> None:
    """A list without lists and choices is one value."""
    experiment = load(write(PATHS + WORKLOAD), overrides=[f"hosts.{node}.transport.endpoints={value}"])
    assert len(experiment.points) == points


def test_a_list_fixes_a_key_of_a_zip_that_takes_lists(write: Write) -> None:
    columns = '"hosts.client.transport.endpoints" = ["auto", "none"]\n"links.link1.delay" = ["1 ms", "2 ms"]\n'
    file, key = write(PATHS + WORKLOAD + f"[[sweep.zip]]\n{columns}"), "hosts.client.transport.endpoints"
    fixed = load(file, overrides=[f'{key}=[{{ link = "access1" }}]'])
    assert settings_of(fixed) == [("1 ms",), ("2 ms",)]
    assert settings_of(load(file, overrides=[f'{key}=["none"]'])) == [("none", "2 ms")]


NAMED = """
[sweep]
"links.link1.rate" = ["5 Mbit/s", "9 Mbit/s"]

[[sweep.zip]]
name = ["near", "far", "both far"]
"links.link1.delay" = ["1 ms", "9 ms", "9 ms"]
"links.link2.delay" = ["1 ms", "1 ms", "9 ms"]
"""


def _delays(experiment: Experiment) -> list[tuple[str, int]]:
    points = experiment.points
    return [(one.settings["name"], int(one.scenario.links["link2"].forward.delay or 0) // 10**6) for one in points]


def test_names_stand_for_the_keys_of_a_zip(write: Write) -> None:
    file = write(PATHS + WORKLOAD + NAMED)
    experiment = load(file)
    assert list(experiment.points[0].settings) == ["links.link1.rate", "name"]
    assert _delays(experiment) == 2 * [("near", 1), ("far", 1), ("both far", 9)]
    assert experiment.points[2].label == "rate 5 Mbit/s, name both far"
    assert _delays(load(file, overrides=["name=both far"])) == 2 * [("both far", 9)]
    assert _delays(load(file, overrides=['name=["both far", "near"]'])) == 2 * [("both far", 9), ("near", 1)]
    assert _delays(load(file, overrides=['links.link1.delay=["1 ms"]'])) == 2 * [("near", 1)]


def test_a_zip_that_is_partly_fixed_has_its_names_as_long_as_they_are_true(write: Write) -> None:
    file = write(PATHS + WORKLOAD + NAMED)
    assert _delays(load(file, overrides=["links.link1.rate=1 Mbit/s", "links.link1.loss=1 %"])) == [
        ("near", 1), ("far", 1), ("both far", 9),
    ]  # fmt: skip
    fixed = load(file, overrides=["links.link1.rate=1 Mbit/s", "links.link1.delay=3 ms"])
    assert settings_of(fixed) == [("1 ms",), ("9 ms",)], "near and far are the same now"
    both = load(file, overrides=["links.link1.rate=1 Mbit/s", "links.link*.delay=3 ms"])
    assert settings_of(both) == [()]


def test_a_second_zip_has_a_name_of_its_own(write: Write) -> None:
    second = '[[sweep.zip]]\nname = ["a", "b"]\n"transport.protocol" = ["tcp", "mptcp"]\n'
    experiment = load(write(PATHS + WORKLOAD + NAMED + second), overrides=["name2=b"])
    assert [list(one.settings.values())[1:] for one in experiment.points[:2]] == [["near", "b"], ["far", "b"]]


# -- networks


def test_ipv6(write: Write) -> None:
    text = 'family = "ipv6"\n' + PATHS + WORKLOAD + '[links.link2]\naddresses = ["fd01::1/64", "fd01::2/64"]\n'
    network = Network(one(load(write(text))))
    assert {port.address.version for port in network.ports.values()} == {6}
    assert network.ports["server", "link2"].ip == "fd01::2"


def test_addresses_of_different_links_never_overlap(write: Write) -> None:
    links = "".join(f'[links.l{n}]\nbetween = ["client", "server"]\n' for n in range(600))
    for family in ("ipv4", "ipv6"):
        text = f'title = "t"\nfamily = "{family}"\n[hosts.client]\n[hosts.server]\n{links}{WORKLOAD}'
        network = Network(one(load(write(text))))
        assert len({port.subnet for port in network.ports.values()}) == 600
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
    scenario = one(load(write(text)))
    network = Network(scenario)
    assert network.links_of("left") == ["wifi", "short", "long"]
    target = network.target(scenario.workloads["bulk"])
    assert target == network.ports["laptop", "wifi"]
    hop = network.next_hop("right", network.ports["laptop", "wifi"])
    assert hop is not None
    assert hop.link == "short"


def test_two_direct_links(write: Write) -> None:
    text = 'title = "t"\n[topology]\npreset = "direct"\n[links.link2]\nbetween = ["client", "server"]\n' + WORKLOAD
    network = Network(one(load(write(text))))
    assert network.links_of("client") == network.links_of("server") == ["link1", "link2"]


def test_workload_via_a_link(write: Write) -> None:
    scenario = one(load(write(PATHS + WORKLOAD + 'via = "link2"\n')))
    target = Network(scenario).target(scenario.workloads["bulk"])
    assert target is not None
    assert (target.node, target.link) == ("server", "link2")


@pytest.mark.parametrize("links", ["", '[links.link1]\nrate = "10 kbit/s"\n[links.link2]\nforward.rate = "1 Mbit/s"\n'])
def test_stored_scenario_loads_as_the_same(write: Write, links: str) -> None:
    """Recordings have scenarios with all defaults written out."""
    scenario = one(load(write(PATHS + WORKLOAD + links)))
    assert Scenario.model_validate_json(scenario.model_dump_json(by_alias=True)) == scenario


# -- keys


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("links.link1.rate", ("links", "link1", "rate")),
        (" links . 'a.b' . \"c\" ", ("links", "a.b", "c")),
        ("links.*.r?te", ("links", "*", "r?te")),
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
        assert split_key(dotted(path)) == path


def test_known_keys_of_every_table() -> None:
    tables = {"workloads": {"bulk": {"kind": "transfer"}}}
    assert set(known_fields(tables, ())) == set(fields_of(Written))
    assert set(known_fields(tables, ("workloads", "bulk"))) == {*OF_EVERY_KIND, "kind", "size"}
    assert "checksum" in known_fields({}, ("workloads", "bulk"))
    assert set(known_fields({}, ("hosts", "a", "transport", "endpoints", 0))) == {"link", "flags", "port"}
    assert "rate" in known_fields({}, ("links", "a"))
    assert "between" not in known_fields({}, ("links", "a", "forward"))
    assert known_fields({}, ("nothing", "here")) == {}


def test_language_as_json_schema() -> None:
    schema = Written.model_json_schema()
    assert schema["additionalProperties"] is False
    assert {"topology", "transport", "sweep", "title"} <= set(schema["properties"])
