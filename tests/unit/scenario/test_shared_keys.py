# SPDX-License-Identifier: MIT
"""Shared keys that do nothing: each place that they hold for has a key of its own. None is accepted in silence."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.scenario_files import PATHS, WORKLOAD, Write

from mptcplab.errors import Mistake
from mptcplab.scenario.document import ScenarioError
from mptcplab.scenario.load import Experiment, load
from mptcplab.units import Rate

BOTH = """
[links.link2]
forward.rate = "2 Mbit/s"
backward.rate = "20 Mbit/s"
delay = "10 ms"
"""
ONE = """
[links.link2]
rate = "20 Mbit/s"
forward.rate = "2 Mbit/s"
"""
HOSTS = """
[hosts.client.transport]
scheduler = "blest"
limits.subflows = 1
[hosts.server.transport]
scheduler = "minrtt"
limits.subflows = 2
"""


def _expect_refusal(file: Path, *overrides: str) -> ScenarioError:
    with pytest.raises(ScenarioError) as caught:
        load(file, overrides=overrides)
    assert caught.value.kind is Mistake.IDLE, caught.value
    return caught.value


def _rates(experiment: Experiment) -> list[tuple[str, str]]:
    links = [point.scenario.links["link2"] for point in experiment.points]
    return [(str(link.forward.rate), str(link.backward.rate)) for link in links]


@pytest.mark.parametrize(
    ("tables", "override", "over"),
    [
        (BOTH, "links.link2.rate=5 Mbit/s", "links.link2.forward.rate and links.link2.backward.rate override it"),
        (BOTH, "links.link*.rate=5 Mbit/s", "links.link2.forward.rate and links.link2.backward.rate override it"),
        (BOTH, 'links.link2.rate=["5 Mbit/s", "6 Mbit/s"]', "links.link2.forward.rate and links.link2.backward.rate"),
        (
            HOSTS,
            "transport.scheduler=ecf",
            "hosts.client.transport.scheduler and hosts.server.transport.scheduler override it",
        ),
        (HOSTS, "transport.limits.subflows=3", "hosts.client.transport.limits.subflows and hosts.server.transport"),
        (BOTH, "links.link2.preset=wifi-hop-2016", "links.link2.delay overrides it"),
    ],
)
def test_a_setting_that_every_place_overrides_is_refused(write: Write, tables: str, override: str, over: str) -> None:
    error = _expect_refusal(write(PATHS + WORKLOAD + tables), override)
    assert str(error.place) == "--set"
    assert f"does nothing, because {over}" in error.message, error.message
    assert over.split(" ")[0] in str(error.hint), error.hint


def test_a_setting_that_holds_in_one_place_is_used(write: Write) -> None:
    assert _rates(load(write(PATHS + WORKLOAD + ONE), overrides=["links.link2.rate=5 Mbit/s"])) == [
        ("2 Mbit/s", "5 Mbit/s")
    ]
    client_only = '[hosts.client.transport]\nscheduler = "blest"\n'
    experiment = load(write(PATHS + WORKLOAD + client_only), overrides=["transport.scheduler=ecf"])
    transports = experiment.points[0].scenario.transports
    assert {name: transport.scheduler for name, transport in transports.items()} == {"client": "blest", "server": "ecf"}


def test_a_dead_key_of_the_file_is_refused_at_its_line(write: Write) -> None:
    file = write(PATHS + WORKLOAD + BOTH + 'rate = "5 Mbit/s"\n')
    error = _expect_refusal(file)
    line = file.read_text().splitlines().index('rate = "5 Mbit/s"') + 1
    assert (error.place.line, error.key) == (line, "links.link2.rate")


@pytest.mark.parametrize("value", ['["5 Mbit/s"]', '["5 Mbit/s", "6 Mbit/s"]'])
def test_a_swept_key_that_every_place_overrides_is_refused(write: Write, value: str) -> None:
    error = _expect_refusal(write(PATHS + WORKLOAD + BOTH + f'[sweep]\n"links.link2.rate" = {value}\n'))
    assert "sweep links.link2.forward.rate" in (error.hint or ""), error.hint


def test_more_special_settings_may_replace_a_key_of_the_file(write: Write) -> None:
    shared = write(PATHS + WORKLOAD + '[links.link2]\nrate = "5 Mbit/s"\n')
    sides = ["links.link2.forward.rate=1 Mbit/s", "links.link2.backward.rate=9 Mbit/s"]
    assert _rates(load(shared, overrides=sides)) == [("1 Mbit/s", "9 Mbit/s")]
    assert _expect_refusal(shared, "links.link2.rate=7 Mbit/s", *sides).key == "links.link2.rate"
    link = '[links.link2]\nrate = "5 Mbit/s"\nbackward.rate = "9 Mbit/s"\n'
    swept = '[sweep]\n"links.link2.forward.rate" = ["1 Mbit/s", "2 Mbit/s"]\n'
    experiment = load(write(PATHS + WORKLOAD + link + swept))
    assert _rates(experiment) == [("1 Mbit/s", "9 Mbit/s"), ("2 Mbit/s", "9 Mbit/s")]


def test_an_extending_file_may_replace_shared_keys_but_not_set_them_in_vain(write: Write, tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(PATHS + WORKLOAD + '[links.link2]\nrate = "5 Mbit/s"\n')
    extending = write('extends = "base.toml"\n[links.link2]\nforward.rate = "1 Mbit/s"\nbackward.rate = "2 Mbit/s"\n')
    assert _rates(load(extending)) == [("1 Mbit/s", "2 Mbit/s")]
    (tmp_path / "third.toml").write_text(f'extends = "{extending.name}"\n[links.link2]\nrate = "7 Mbit/s"\n')
    assert _expect_refusal(tmp_path / "third.toml").place.file.name == "third.toml"


def test_a_key_of_copies_does_nothing_only_if_every_copy_overrides_it(write: Write) -> None:
    copies = """
title = "Copies"
[hosts.server]
[routers.r]
[links.up]
between = ["r", "server"]
[copies.ue]
count = 2
[copies.ue.hosts."ue{n}"]
[copies.ue.links."wifi{n}"]
between = ["ue{n}", "r"]
rate = "5 Mbit/s"
[copies.ue.workloads."get{n}"]
kind = "flow"
from = "ue{n}"
to = "server"
size = "1 MB"
[links.wifi1]
forward.rate = "1 Mbit/s"
backward.rate = "2 Mbit/s"
"""
    link = load(write(copies)).points[0].scenario.links["wifi2"]
    assert link.forward.rate == Rate.parse("5 Mbit/s")
    second = copies + '[links.wifi2]\nforward.rate = "1 Mbit/s"\nbackward.rate = "2 Mbit/s"\n'
    assert _expect_refusal(write(second)).key == 'copies.ue.links."wifi{n}".rate'
