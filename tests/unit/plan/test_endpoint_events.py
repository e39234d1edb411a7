# SPDX-License-Identifier: MIT
"""Events of endpoints and limits: their commands, in a plan and after events of addresses, and what readers make of
them."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from tests.unit.command_output import output_of
from tests.unit.results_folders import make_results

from mptcplab.figure.words import event_marks
from mptcplab.metrics.instants import changes_rates, changes_shape, read_instants
from mptcplab.metrics.network import endpoint_states
from mptcplab.node.words import EndpointEvent, limits_value, parse_limits
from mptcplab.plan.compile import compile_plan
from mptcplab.recording import samples
from mptcplab.recording.record import Recording
from mptcplab.scenario.document import ScenarioError
from mptcplab.scenario.load import load

SCENARIO = """
title = "Endpoints"
topology = { preset = "disjoint-paths", paths = 2 }
links.link1 = { rate = "50 Mbit/s", delay = "10 ms" }
links.link2 = { rate = "20 Mbit/s", delay = "30 ms" }
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "9 s" }
MORE
events = [EVENTS]
"""
#: One endpoint of the client that is set up, beside an endpoint that an event adds.
FULLMESH = 'hosts.client.transport.endpoints = [{ link = "access1", flags = ["subflow", "fullmesh"] }]'


def _scenario(folder: Path, *events: str, more: str = "") -> Path:
    file = folder / "s.toml"
    tables = ", ".join(f"{{ {event} }}" for event in events)
    file.write_text(SCENARIO.replace("MORE", more).replace("EVENTS", tables))
    return file


def _commands(folder: Path, *events: str, more: str = "") -> list[str]:
    plan = compile_plan(load(_scenario(folder, *events, more=more)).points[0].scenario, seed=1)
    return [
        f"{command.node}: {shlex.join(command.argv)}"
        for event in plan.events
        for command in event.commands
        if "mptcp" in str(command)
    ]


def test_commands_of_each_type(tmp_path: Path) -> None:
    """An added endpoint has no number of its own; a change names both flags, since the kernel replaces both."""
    assert _commands(
        tmp_path,
        'at = "1 s", type = "endpoint-added", link = "access2"',
        'at = "2 s", type = "endpoint-changed", link = "access2", flags = ["backup"]',
        'at = "3 s", type = "endpoint-changed", link = "access1", flags = ["backup"]',
        'at = "4 s", type = "endpoint-changed", link = "access1", flags = ["nofullmesh"]',
        'at = "5 s", type = "endpoint-removed", link = "access1"',
        'at = "6 s", type = "limits-changed", node = "client", subflows = 3',
        'at = "7 s", type = "limits-changed", node = "client", add_addr_accepted = 1',
        more=FULLMESH,
    ) == [
        "client: ip mptcp endpoint add 10.0.3.1 dev access2 subflow",
        "client: ip mptcp endpoint change 10.0.3.1 backup nofullmesh",
        "client: ip mptcp endpoint change 10.0.1.1 backup fullmesh",
        "client: ip mptcp endpoint change 10.0.1.1 backup nofullmesh",
        "client: ip mptcp endpoint delete id 1",
        "client: ip mptcp limits set subflows 3 add_addr_accepted 8",
        "client: ip mptcp limits set subflows 3 add_addr_accepted 1",
    ]


def test_an_added_endpoint_is_removed_by_the_number_that_it_got(tmp_path: Path) -> None:
    """`sed` takes it from lines like `10.0.3.1 id 2 signal dev access2`; dots and ports are matched exactly."""
    (_, removed) = _commands(
        tmp_path,
        'at = "1 s", type = "endpoint-added", link = "access2", flags = ["signal"], port = 80',
        'at = "2 s", type = "endpoint-removed", link = "access2", port = 80',
    )
    program, option, line = shlex.split(removed.partition(": ")[2])
    assert (program, option) == ("sh", "-c")
    assert line == (
        'ip mptcp endpoint delete id "$(ip mptcp endpoint show | '
        r"""sed -n 's/^10\.0\.3\.1 port 80 id \([0-9]*\) .*/\1/p')" """.rstrip()
    )


def test_the_lookup_names_its_programs(tmp_path: Path) -> None:
    events = (
        'at = "1 s", type = "endpoint-added", link = "access2"',
        'at = "2 s", type = "endpoint-removed", link = "access2"',
    )
    plan = compile_plan(load(_scenario(tmp_path, *events)).points[0].scenario, seed=1)
    assert {"sh", "ip", "sed"} <= set(plan.uses)


def test_addresses_take_the_endpoints_that_there_are(tmp_path: Path) -> None:
    """What was removed before does not come back, and what was changed comes back changed."""
    gone = 'at = "3 s", type = "address-removed", link = "link2"'
    back = 'at = "4 s", type = "address-added", link = "link2"'
    removed = 'at = "2 s", type = "endpoint-removed", link = "link2"'
    assert _commands(tmp_path, removed, gone, back) == ["server: ip mptcp endpoint delete id 1"]
    changed = 'at = "2 s", type = "endpoint-changed", link = "link2", flags = ["backup"]'
    assert _commands(tmp_path, changed, gone, back) == [
        "server: ip mptcp endpoint change 10.0.4.2 backup nofullmesh",
        "server: ip mptcp endpoint delete id 1",
        "server: ip mptcp endpoint add 10.0.4.2 dev link2 id 1 signal backup",
    ]
    again = 'at = "5 s", type = "endpoint-changed", link = "link2", flags = ["nobackup"]'
    assert (
        _commands(tmp_path, changed, gone, back, again)[-1]
        == "server: ip mptcp endpoint change 10.0.4.2 nobackup nofullmesh"
    )


def test_a_point_of_the_other_path_manager_is_not_available(tmp_path: Path) -> None:
    more = 'sweep."transport.path_manager" = ["kernel", "userspace"]'
    experiment = load(_scenario(tmp_path, 'at = "1 s", type = "endpoint-added", link = "access2"', more=more))
    (lacking,) = experiment.unavailable
    assert "the kernel's path manager" in lacking.reason
    assert len(experiment.points) == 1


def test_a_router_with_sockets_has_endpoints(tmp_path: Path) -> None:
    """Without a connection of its own it has no MPTCP sockets to manage, but its endpoints exist."""
    more = "routers.r2.transport = {}"
    event = 'at = "1 s", type = "endpoint-added", link = "access2", node = "r2"'
    assert _commands(tmp_path, event, more=more) == ["r2: ip mptcp endpoint add 10.0.3.2 dev access2 subflow"]


def test_two_hosts_at_a_link_have_to_be_named(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text("""
title = "Two cables"
hosts = { client = {}, server = {} }
links.a = { between = ["client", "server"], rate = "10 Mbit/s" }
links.b = { between = ["client", "server"], rate = "10 Mbit/s" }
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "9 s" }
events = [{ at = "1 s", type = "endpoint-removed", link = "b" }]
""")
    with pytest.raises(ScenarioError, match="needs one end of the link, which joins two hosts"):
        load(file)


def test_values_of_recordings_are_read_as_they_are_written() -> None:
    for event in (EndpointEvent("c", "fd00::1", None, ("backup",)), EndpointEvent("c", "10.0.0.1", 80, ())):
        assert EndpointEvent.parse(str(event)) == event
    assert parse_limits(limits_value(2, 0)) == {"subflows": 2, "add_addr_accepted": 0}


def test_readers_know_what_events_left(tmp_path: Path) -> None:
    """Marks have words; an event of an endpoint is not a failure, and changes no link."""
    file_text = _scenario(
        tmp_path,
        'at = "1 s", type = "endpoint-added", link = "access2", flags = ["subflow", "backup"]',
        'at = "2 s", type = "endpoint-changed", link = "link2", flags = ["backup"]',
        'at = "3 s", type = "limits-changed", node = "client", subflows = 1',
    ).read_text()
    experiment = make_results(tmp_path / "made", file_text)
    (folder,) = (tmp_path / "made" / "runs").iterdir()
    events = compile_plan(experiment.points[0].scenario, seed=1).events
    keys = ("kind", "link", "direction", "value")
    rows = [{"instant_ns": event.at_ns, **{key: getattr(event, key) for key in keys}} for event in events]
    samples.write(rows, folder / "events.parquet")
    recording = Recording(folder)
    assert [(mark.time_s, mark.text) for mark in event_marks(recording)] == [
        (1.0, "access2: endpoint added at client (backup, subflow)"),
        (2.0, "link2: endpoint changed at server (backup, signal)"),
        (3.0, "client: limits subflows 1, add_addr_accepted 8"),
    ]
    assert read_instants(recording) == []
    assert not changes_rates(recording)
    assert not changes_shape(recording)
    asked = {state.host: state.asked for state in endpoint_states(recording)}
    assert asked["client"] == (
        "10.0.1.1 subflow",
        "10.0.3.1 backup subflow",
        "at most 1 subflows",
        "at most 8 announced addresses",
    )
    assert asked["server"] == ("10.0.4.2 backup signal", "at most 8 subflows", "at most 8 announced addresses")


def test_show_names_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = _scenario(tmp_path, 'at = "1 s", type = "endpoint-added", link = "access2", flags = ["backup"]')
    out = output_of(monkeypatch, capsys, "show", file).out
    assert "# events.0: the endpoint is added at client, the only host at access2; `node` names another end" in out
    assert "Note: the endpoint of client on access2 has the flag backup: it opens no subflow" in out.replace("\n", " ")
