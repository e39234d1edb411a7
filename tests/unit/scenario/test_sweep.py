# SPDX-License-Identifier: MIT
"""Points of a scenario: sweeps, names of zips, and ``--set``, which fixes or sweeps a key from outside of the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.scenario_files import PATHS, WORKLOAD, Write, first_scenario, settings_of

from mptcplab.errors import Mistake
from mptcplab.node.transport import Endpoint
from mptcplab.scenario import load as scenario_load
from mptcplab.scenario.document import ScenarioError
from mptcplab.scenario.load import Experiment, load
from mptcplab.scenario.overrides import override
from mptcplab.scenario.writing import format_value
from mptcplab.units import Duration, Rate, Size
from mptcplab.workload.flow import Flow

STUDIES = Path(__file__).parents[3] / "src" / "mptcplab" / "studies"


def test_words_with_commas_are_told_how_to_sweep(write: Write) -> None:
    with pytest.raises(ScenarioError) as wrong:
        load(write(PATHS + WORKLOAD), overrides=["transport.scheduler=default, blest"])
    command = """--set transport.scheduler='["default", "blest"]'"""
    assert command in (wrong.value.hint or ""), wrong.value
    assert len(load(write(PATHS + WORKLOAD), overrides=['transport.scheduler=["default", "blest"]']).points) == 2


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


EVENTS = """
[[events]]
at = "1 s"
link = "link1"
type = "down"
[[events]]
at = "2 s"
link = "link1"
type = "up"
"""


@pytest.mark.parametrize("from_outside", [False, True])
def test_wildcard_matches_every_member_of_a_list(write: Write, from_outside: bool) -> None:
    """Which line dies is the link of two events; as names of tables do, numbers of members match."""
    text, key, lines = PATHS + WORKLOAD + EVENTS, "events.*.link", '["link1", "link2"]'
    if from_outside:
        experiment = load(write(text), overrides=[f"{key}={lines}"])
    else:
        experiment = load(write(f'{text}[sweep]\n"{key}" = {lines}\n'))
    assert settings_of(experiment) == [("link1",), ("link2",)]
    events = [[(event.link, event.type) for event in point.scenario.events] for point in experiment.points]
    assert events == [[(link, "down"), (link, "up")] for link in ("link1", "link2")]
    (second,) = load(write(text), overrides=["events.?.link=link2", "events.1.at=3 s"]).points
    assert [(event.link, event.at) for event in second.scenario.events] == [
        ("link2", Duration(10**9)),
        ("link2", Duration(3 * 10**9)),
    ]


def test_wildcard_without_a_match_names_the_members(write: Write) -> None:
    with pytest.raises(ScenarioError, match="matches no key") as wrong:
        load(write(PATHS + WORKLOAD + EVENTS), overrides=["events.2?.link=link2"])
    assert wrong.value.hint == "use a pattern that matches one of 0, 1"


def test_sweep_replaces_the_value_in_the_file(write: Write) -> None:
    text = PATHS + WORKLOAD + '[links.link1]\ndelay = "9 ms"\n[sweep]\n"links.link1.delay" = ["1 ms"]\n'
    assert first_scenario(load(write(text))).links["link1"].forward.delay == Duration(10**6)


def test_a_replaced_value_may_fit_only_what_else_is_replaced(write: Write) -> None:
    """The file's jitter fits its delay, and exceeds the first point's delay: only mistakes of a value itself count."""
    link = '[links.link1]\ndelay = "30 ms"\njitter = "20 ms"\n'
    zipped = '[[sweep.zip]]\n"links.link1.delay" = ["5 ms", "50 ms"]\n"links.link1.jitter" = ["1 ms", "2 ms"]\n'
    experiment = load(write(PATHS + WORKLOAD + link + zipped))
    assert len(experiment.points) == 2
    assert [scenario.links["link1"].forward.delay for scenario in experiment.replaced] == [Duration(30 * 10**6)]
    with pytest.raises(ScenarioError) as refused:
        load(write(PATHS + WORKLOAD + link.replace("20 ms", "20 mm") + zipped))
    assert refused.value.kind == Mistake.QUANTITY


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
    scenario = first_scenario(load(file, overrides=[*overrides, "workloads.bulk.checksum=true", "kernel=7.3"]))
    assert scenario.links["link1"].forward.rate == Rate(3 * 10**6)
    assert (scenario.title, scenario.kernel, len(scenario.node_tables["routers"])) == ("Other", "7.3", 3)
    bulk = scenario.workloads["bulk"]
    assert isinstance(bulk, Flow)
    assert (bulk.connections, bulk.checksum) == (5, True)


def test_values_of_settings_are_toml_if_they_look_like_it(write: Write) -> None:
    file = write(PATHS + WORKLOAD)
    rmem = 'transport.tcp_rmem=["4 KiB", "128 KiB", "6 MiB"]'
    endpoints = 'hosts.client.transport.endpoints=[{ link = "access2", flags = ["backup"] }]'
    scenario = first_scenario(load(file, overrides=[rmem, endpoints, 'kernel="7"']))
    assert scenario.transports["server"].tcp_rmem == (Size(4096), Size(131072), Size(6 << 20))
    assert scenario.transports["client"].endpoints == (Endpoint(link="access2", flags=("backup",)),)
    assert scenario.kernel == "7"


def test_a_decimal_is_a_number_but_for_the_version_of_a_kernel(write: Write) -> None:
    file = write('kernel = "7.2-wifi"\n' + PATHS + WORKLOAD)
    with pytest.raises(ScenarioError) as raised:
        load(file, overrides=["links.link1.rate=10.5"])
    assert raised.value.kind is Mistake.QUANTITY
    assert first_scenario(load(file, overrides=["kernel=6.12"])).kernel == "6.12"
    steered = load(STUDIES / "asakura2019" / "steered-8.toml", overrides=["steering.threshold=1.07"])
    assert [point.scenario.steering.threshold for point in steered.points if point.scenario.steering] == [1.07]


def test_later_settings_take_precedence(write: Write) -> None:
    assert first_scenario(load(write(PATHS + WORKLOAD), overrides=["title=a", "title=b=c"])).title == "b=c"


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


def test_an_axis_on_the_command_line_replaces_a_value_of_the_file(write: Write) -> None:
    """It was refused, with `does nothing, because --set sweeps it`, for a key that the file itself sets and sweeps."""
    link = (
        '[links.link1]\nrate = "10 Mbit/s"\ndelay = "5 ms"\n[sweep]\n"links.link1.delay" = ["1 ms", "2 ms", "3 ms"]\n'
    )
    narrowed = load(write(PATHS + WORKLOAD + link), overrides=['links.link1.delay=["1 ms", "3 ms"]'])
    assert settings_of(narrowed) == [("1 ms",), ("3 ms",)]


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
    return [
        (point.settings["name"], int(point.scenario.links["link2"].forward.delay or 0) // 10**6) for point in points
    ]


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


def test_two_names_of_the_same_point_are_refused(write: Write) -> None:
    """A newcomer left out the key that told his lines apart: one was never measured, and nothing said so."""
    same = '[[sweep.zip]]\nname = ["fibre", "5G", "both"]\n"transport.protocol" = ["tcp", "tcp", "mptcp"]\n'
    with pytest.raises(ScenarioError, match="names the same point as 'fibre'") as wrong:
        load(write(PATHS + WORKLOAD + same))
    assert wrong.value.hint == 'add the key in which they differ to "transport.protocol", or remove one of the names'


def test_a_position_of_a_zip_without_names_is_not_listed_twice(write: Write) -> None:
    """An axis refuses the same: one of both would not be run."""
    twice = '[[sweep.zip]]\n"links.link1.delay" = ["1 ms", "1 ms"]\n"transport.protocol" = ["tcp", "tcp"]\n'
    with pytest.raises(ScenarioError, match="has position 1 again as position 2") as wrong:
        load(write(PATHS + WORKLOAD + twice))
    assert wrong.value.hint == "use `repeats` to run a point several times, or add the key in which they differ"


def test_long_values_have_whole_labels(write: Write) -> None:
    """Labels were cut to 60 characters: two points had the same settings, and a failed run's command was wrong."""
    first = {"link": "link1", "flags": ["signal"], "port": 12345}
    values = [[first, {"link": "link2", "flags": flags}] for flags in (["signal"], ["signal", "backup"])]
    swept = f'[sweep]\n"hosts.server.transport.endpoints" = {format_value(values)}\n'
    experiment = load(write(PATHS + WORKLOAD + swept))
    labels = [point.settings["hosts.server.transport.endpoints"] for point in experiment.points]
    assert len(set(labels)) == 2, labels
    for label, value in zip(labels, values, strict=True):
        assert override(f"hosts.server.transport.endpoints={label}").value == value


def test_labels_of_texts_in_tables_are_whole(write: Write) -> None:
    values = [{"net.ipv4.tcp_wmem": f"4096 16384 {'0' * 60}419430{end}"} for end in (4, 5)]
    experiment = load(write(PATHS + WORKLOAD + f'[sweep]\n"transport.sysctl" = {format_value(values)}\n'))
    assert len({point.settings["transport.sysctl"] for point in experiment.points}) == 2


def test_a_date_as_a_swept_value_is_a_mistake(write: Write) -> None:
    with pytest.raises(ScenarioError):
        load(write(PATHS + WORKLOAD + '[sweep]\n"transport.sysctl" = [{ a = 2020-01-01 }, { a = 2020-01-02 }]\n'))


def test_a_second_zip_has_a_name_of_its_own(write: Write) -> None:
    second = '[[sweep.zip]]\nname = ["a", "b"]\n"transport.protocol" = ["tcp", "mptcp"]\n'
    experiment = load(write(PATHS + WORKLOAD + NAMED + second), overrides=["name2=b"])
    assert [list(point.settings.values())[1:] for point in experiment.points[:2]] == [["near", "b"], ["far", "b"]]


def test_a_queue_that_one_swept_discipline_does_not_use(write: Write) -> None:
    """Without the queue, the points of the other disciplines would have another one; the zip of the hint works."""
    queue, discipline = "links.link1.forward.queue", '"links.link*.forward.discipline" = ["fq_codel", "cake"]\n'
    fixed, rate = write(PATHS + WORKLOAD + "[sweep]\n" + discipline), "links.link*.rate=5 Mbit/s"
    with pytest.raises(ScenarioError, match="does nothing with cake") as wrong:
        load(fixed, overrides=[rate, f"{queue}=1 s"])
    hint = wrong.value.hint or ""
    assert hint.startswith("the sweep sets links.link*.forward.discipline = cake; sweep the queue beside it"), hint
    zipped = load(
        write(PATHS + WORKLOAD + f'[[sweep.zip]]\n{discipline}"{queue}" = ["1 s", "100 ms"]\n'), overrides=[rate]
    )
    assert [str(point.scenario.links["link1"].forward.queue) for point in zipped.points] == ["1 s", "100 ms"]


def _axis(link: str, *more: str) -> str:
    values = [*(f"{number} Mbit/s" for number in range(1, 100)), *more]
    return f'"links.{link}.rate" = {json.dumps(values)}\n'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("links", "axes", "message"),
    [
        ("", _axis("link1", "-1 Mbit/s") + _axis("link2"), "a rate cannot be negative"),
        ("", _axis("link1", "99000 kbit/s") + _axis("link2"), "the same scenario"),
        ("[links.link1]\ndelay = '5 ms'\nforward.delay = '1 ms'\nbackward.delay = '1 ms'\n",
         _axis("link1") + _axis("link2"), "does nothing"),
    ],
    ids=["value", "duplicate", "idle"],
)  # fmt: skip
def test_a_mistake_of_one_value_is_found_before_thousands_of_points(
    write: Write, monkeypatch: pytest.MonkeyPatch, links: str, axes: str, message: str
) -> None:
    """A sweep of 9,801 points was refused after seven seconds, when all had been read."""
    resolved = []
    resolve = scenario_load._resolve

    def count(*arguments: Any) -> Any:
        resolved.append(arguments)
        return resolve(*arguments)

    monkeypatch.setattr(scenario_load, "_resolve", count)
    with pytest.raises(ScenarioError, match=message):
        load(write(f"{PATHS}{WORKLOAD}{links}[sweep]\n{axes}"))
    assert len(resolved) <= 100 + 99, "each value of each axis, once"


def test_the_order_of_points_is_that_of_the_file(write: Write) -> None:
    """Each value is tried first, which must not show."""
    sweep = '[sweep]\n"links.link1.rate" = ["1 Mbit/s", "2 Mbit/s"]\n"links.link2.rate" = ["3 Mbit/s", "4 Mbit/s"]\n'
    points = load(write(PATHS + WORKLOAD + sweep)).points
    assert [tuple(point.settings.values()) for point in points] == [
        ("1 Mbit/s", "3 Mbit/s"),
        ("1 Mbit/s", "4 Mbit/s"),
        ("2 Mbit/s", "3 Mbit/s"),
        ("2 Mbit/s", "4 Mbit/s"),
    ]
