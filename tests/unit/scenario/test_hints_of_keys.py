# SPDX-License-Identifier: MIT
"""Hints for keys that have another name in other tools, in other tables, or had one in earlier versions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args, get_origin

import pytest
from pydantic import BaseModel
from tests.unit.scenario_files import PATHS, WORKLOAD, Write

from mptcplab.fields import Part, misnomers_of
from mptcplab.scenario.document import ScenarioError
from mptcplab.scenario.keys import Written, fields_of, find_meant_key, meanings_of, union_members
from mptcplab.scenario.load import load
from mptcplab.workload.flow import Flow
from mptcplab.workload.iperf3 import Iperf3
from mptcplab.workload.registry import KINDS

TWO_PATHS = PATHS + WORKLOAD
ENDS = 'from = "client"\nto = "server"\n'
SIDES = 'entry = "client"\nexit = "server"\n'

#: A table of the language by the name of its model: the beginning of a file in which it is the last table, and keys
#: that users write there, each with the key that they mean.
TABLES: dict[str, tuple[str, dict[str, str]]] = {
    "Written": (
        'title = "Two paths"\n',
        {"network": "topology", "runs": "repeats", "nodes": "hosts", "flows": "workloads", "name": "title"},
    ),
    "Topology": (f"{TWO_PATHS}[topology]\n".replace(PATHS, 'title = "x"\n'), {"lines": "paths", "type": "preset"}),
    "Copies": (f"{TWO_PATHS}[copies.ue]\n", {"number": "count", "nodes": "hosts"}),
    "Repeats": (f"{TWO_PATHS}[repeats]\n", {"least": "min", "most": "max", "metric": "of", "precision": "until"}),
    "Record": (f"{TWO_PATHS}[record]\n", {"pcap": "captures", "period": "interval"}),
    "Capture": (f"{TWO_PATHS}[[record.captures]]\n", {"host": "node", "interface": "link", "snap": "snaplen"}),
    "Steering": (f"{TWO_PATHS}[steering]\n", {"interval": "period", "aps": "access_points", "hysteresis": "margin_db"}),
    "Wifi": (f"{TWO_PATHS}[wifi]\n", {"noise_floor": "noise_dbm", "propagation": "path_loss", "rts": "rts_bytes"}),
    "Transport": (
        f"{TWO_PATHS}[transport]\n",
        {"cc": "congestion_control", "sched": "scheduler", "proto": "protocol", "pm": "path_manager", "mode": "modes"},
    ),
    "Limits": (f"{TWO_PATHS}[transport.limits]\n", {"max_subflows": "subflows", "add_addr": "add_addr_accepted"}),
    "Endpoint": (f"{TWO_PATHS}[[transport.endpoints]]\n", {"dev": "link", "type": "flags"}),
    "Host": (f"{TWO_PATHS}[hosts.client]\n", {"location": "position", "processor": "cpu", "mptcp": "transport"}),
    "Router": (f"{TWO_PATHS}[routers.r1]\n", {"masquerade": "nat", "firewall": "middlebox", "settings": "sysctl"}),
    "AccessPoint": (
        f"{TWO_PATHS}[access_points.ap]\n",
        {"txpower": "power_dbm", "freq": "channel", "essid": "ssid", "psk": "passphrase", "standard": "mode"},
    ),
    "Middlebox": (
        f"{TWO_PATHS}[routers.r1.middlebox]\n",
        {"remove": "strip", "rewrite": "mangle", "corrupt": "damage"},
    ),
    "WaypointKeys": (f"{TWO_PATHS}[[hosts.client.waypoints]]\n", {"time": "at", "location": "position"}),
    "Walk": (f"{TWO_PATHS}[hosts.client.walk]\n", {"speed": "speed_mps", "region": "area", "dwell": "pause"}),
    "Cpu": (f"{TWO_PATHS}[hosts.client.cpu]\n", {"syscall": "per_call", "byte": "per_byte"}),
    "WrittenLink": (
        f"{TWO_PATHS}[links.link1]\n",
        {
            "bandwidth": "rate",
            "bw": "rate",
            "capacity": "rate",
            "latency": "delay",
            "lat": "delay",
            "buffer": "queue",
            "limit": "queue",
            "packet_loss": "loss",
            "plr": "loss",
            "qdisc": "discipline",
            "dup": "duplicate",
            "gemodel": "burst_loss",
            "type": "preset",
            "ends": "between",
        },
    ),
    "DirectionSettings": (
        f"{TWO_PATHS}[links.link1.forward]\n",
        {"bandwidth": "rate", "max_queue_size": "queue", "mdev": "jitter", "gap": "reorder"},
    ),
    "Aqm": (
        f'{TWO_PATHS}[links.link1]\nrate = "1 Mbit/s"\ndiscipline = "red"\n[links.link1.aqm]\n',
        {"least": "min", "most": "max", "rtt": "interval", "tupdate": "update", "max_p": "probability"},
    ),
    "BurstLoss": (f"{TWO_PATHS}[links.link1.burst_loss]\n", {"p13": "p", "loss_bad": "1-h", "burst": "length"}),
    "Trace": (f"{TWO_PATHS}[links.link1.trace]\n", {"path": "file", "loop": "end", "average": "window"}),
    "Radio": (f"{TWO_PATHS}[links.link1.radio]\n", {"power": "power_dbm", "roam_threshold": "roam_below_dbm"}),
    "Event": (
        f"{TWO_PATHS}[[events]]\n",
        {
            "what": "type",
            "kind": "type",
            "event": "type",
            "time": "at",
            "when": "at",
            "how": "mode",
            "interface": "link",
            "bandwidth": "rate",
            "latency": "delay",
        },
    ),
    "Flow": (
        f'{PATHS}[workloads.w]\nkind = "flow"\n',
        {
            "src": "from",
            "client": "from",
            "dst": "to",
            "server": "to",
            "time": "duration",
            "bytes": "size",
            "parallel": "connections",
            "cc": "congestion_control",
            "at": "start",
        },
    ),
    "Iperf3": (f'{PATHS}[workloads.w]\nkind = "iperf3"\n{ENDS}', {"time": "duration", "parallel": "connections"}),
    "Ftp": (f'{PATHS}[workloads.w]\nkind = "ftp"\n{ENDS}', {"count": "files", "bind": "listen", "bytes": "size"}),
    "Http": (f'{PATHS}[workloads.w]\nkind = "http"\n{ENDS}', {"count": "files", "attempts": "retries"}),
    "Requests": (f'{PATHS}[workloads.w]\nkind = "requests"\n{ENDS}', {"number": "count", "think_time": "think"}),
    "Stream": (f'{PATHS}[workloads.w]\nkind = "stream"\n{ENDS}', {"message": "packet", "late": "deadline"}),
    "Transfer": (f'{PATHS}[workloads.w]\nkind = "transfer"\n{ENDS}', {"bytes": "size", "destination": "to"}),
    "Udp": (f'{PATHS}[workloads.w]\nkind = "udp"\n{ENDS}', {"bandwidth": "rate", "idle": "off", "time": "duration"}),
    "Voip": (f'{PATHS}[workloads.w]\nkind = "voip"\n{ENDS}', {"jitterbuffer": "playout", "buffer": "playout"}),
    "Web": (f'{PATHS}[workloads.w]\nkind = "web"\n{ENDS}', {"period": "interval", "object": "response"}),
    "GoShadowsocks2": (
        f'{TWO_PATHS}[gateways.g]\nprogram = "go-shadowsocks2"\n{SIDES}',
        {"method": "cipher", "release": "version"},
    ),
    "OpenVpn": (f'{TWO_PATHS}[gateways.g]\nprogram = "openvpn"\n', {"dev": "device", "client": "entry"}),
    "ShadowsocksLibev": (
        f'{TWO_PATHS}[gateways.g]\nprogram = "shadowsocks-libev"\n{SIDES}',
        {"method": "cipher", "socks_port": "local_port"},
    ),
    "ShadowsocksRust": (f'{TWO_PATHS}[gateways.g]\nprogram = "shadowsocks-rust"\n', {"from": "entry", "to": "exit"}),
    "Xray": (f'{TWO_PATHS}[gateways.g]\nprogram = "xray"\n{SIDES}', {"proto": "protocol", "failures": "outages"}),
    "Outage": (
        f'{TWO_PATHS}[gateways.g]\nprogram = "xray"\n{SIDES}[[gateways.g.outages]]\n',
        {"time": "at", "duration": "downtime", "node": "side"},
    ),
}

# A kind of workload without misnomers of its own has the misnomers of all kinds, and needs no entry above.
for _kind, _model in KINDS.items():
    TABLES.setdefault(_model.__name__, (f'{PATHS}[workloads.w]\nkind = "{_kind}"\n{ENDS}', {"at": "start"}))


def _models_below(model: type[BaseModel], known: dict[str, type[BaseModel]]) -> dict[str, type[BaseModel]]:
    """Add ``model`` and the models of all tables below it to ``known``, by their names."""
    known[model.__name__] = model
    for field in fields_of(model).values():
        for part in _models_in(field.annotation):
            if part.__name__ not in known:
                _models_below(part, known)
    return known


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models of a table, and of a list or table of tables."""
    for leaf in union_members(annotation):
        if isinstance(leaf, type) and issubclass(leaf, BaseModel):
            yield leaf
        elif get_origin(leaf) in (dict, list, tuple):
            yield from (model for argument in get_args(leaf) for model in _models_in(argument))


MODELS = _models_below(Written, {})


def _refusal(write: Write, text: str) -> ScenarioError:
    with pytest.raises(ScenarioError) as caught:
        load(write(text))
    return caught.value


@pytest.mark.parametrize("table", TABLES)
def test_another_name_of_a_key_gets_the_key_as_its_hint(write: Write, table: str) -> None:
    text, names = TABLES[table]
    for name, key in names.items():
        error = _refusal(write, f"{text}{name} = 1\n")
        assert "is not a known key" in error.message
        assert error.hint == f"did you mean `{key}`?", name


@pytest.mark.parametrize("name", MODELS)
def test_a_key_in_a_neighbours_table_is_shown_a_table_that_has_it(write: Write, name: str) -> None:
    """In [repeats], whose own keys and misnomers are few. A key of several tables is shown the first of them.

    A key that resembles a misnomer there is taken for it.
    """
    neighbour = MODELS["Repeats"]
    text, _ = TABLES["Repeats"]
    others = fields_of(MODELS[name]).keys() - fields_of(neighbour).keys()
    for key in sorted(key for key in others if find_meant_key(key, [neighbour]) is None):
        hint = _refusal(write, f"{text}{key} = 1\n").hint or ""
        assert hint.startswith((f"`{key}` belongs in ", f"`{key}` belongs at ")), hint


def test_a_key_of_several_kinds_of_workloads_is_shown_all(write: Write) -> None:
    hint = _refusal(write, f"{TABLES['Record'][0]}retries = 1\n").hint
    assert hint == '`retries` belongs in [workloads.NAME] with kind = "ftp" or "http"'
    hint = _refusal(write, f"{TABLES['Record'][0]}playout = 1\n").hint
    assert hint == '`playout` belongs in [workloads.NAME] with kind = "voip"'


def test_every_table_of_the_language_is_tested() -> None:
    assert set(TABLES) == set(MODELS)


@pytest.mark.parametrize("name", MODELS)
def test_a_misnomer_is_not_a_key_and_means_a_single_key(name: str) -> None:
    """It would get no hint if it were a key, and the hint of the last key otherwise."""
    model = MODELS[name]
    keys = fields_of(model).keys()
    misnomers = [other for key, others in misnomers_of(model).items() if key in keys for other in others]
    assert not keys & set(misnomers)
    owners = {other: [key for key in keys if other in misnomers_of(model).get(key, ())] for other in misnomers}
    twice = {other: names for other, names in owners.items() if len(names) > 1}
    assert not twice, "each of these names means several keys: leave it to one of them, in the key's `misnomers`"
    assert all(other == other.casefold().replace("-", "_") for other in misnomers), "compared in this form"
    assert len(meanings_of(model)) == len(misnomers) > 0


def test_every_key_that_has_misnomers_exists() -> None:
    """A base may list names for keys that only some of its subclasses have, but some table has to have each."""
    listing = {base for model in MODELS.values() for base in model.__mro__ if "misnomers" in vars(base)}
    for base in listing - {Part}:
        keys = {key for model in MODELS.values() if issubclass(model, base) for key in fields_of(model)}
        of_event = fields_of(MODELS["DirectionSettings"]) if base is MODELS["Event"] else {}
        assert vars(base)["misnomers"].keys() <= keys | of_event.keys(), base


def test_advice_is_for_names_that_are_not_keys(write: Write) -> None:
    for model in MODELS.values():
        assert not issubclass(model, Part) or not model.advice.keys() & fields_of(model).keys(), model
    for kind in (Flow, Iperf3):
        text = f'{PATHS}[workloads.w]\nkind = "{kind.__name__.lower()}"\n{ENDS}direction = "download"\n'
        assert _refusal(write, text).hint == "`from` sends to `to`; with reverse = true, `to` sends"


@pytest.mark.parametrize(
    ("table", "name", "key"),
    [
        ("workloads.w", "type", "kind"),
        ("workloads.w", "app", "kind"),
        ("gateways.g", "type", "program"),
        ("gateways.g", "Software", "program"),
    ],
)
def test_another_name_of_the_key_that_selects_the_kind_gets_it_as_its_hint(
    write: Write, table: str, name: str, key: str
) -> None:
    error = _refusal(write, f'{TWO_PATHS}[{table}]\n{name} = "flow"\n')
    assert f'{table}.{name} = "flow": is not a known key' in error.message
    assert error.hint == f"did you mean `{key}`?"


def test_a_link_of_its_own_beside_a_preset_may_have_misnamed_ends(write: Write) -> None:
    """It was taken for a link that the preset lacks."""
    error = _refusal(write, f'{TWO_PATHS}[links.third]\nnodes = ["client", "server"]\n')
    assert "links.third.nodes" in error.message
    assert error.hint == "did you mean `between`?"


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Bandwidth", "rate"),
        ("bandwith", "rate"),  # codespell:ignore bandwith
        ("packet-loss", "loss"),
        ("latencey", "delay"),
    ],
)
def test_case_hyphens_and_misspelling_do_not_hide_another_name(write: Write, name: str, key: str) -> None:
    assert _refusal(write, f"{TWO_PATHS}[links.link1]\n{name} = 1\n").hint == f"did you mean `{key}`?"


def test_another_name_gets_its_hint_on_the_command_line_and_in_a_sweep(write: Write) -> None:
    with pytest.raises(ScenarioError) as caught:
        load(write(TWO_PATHS), overrides=("transport.cc=cubic",))
    assert caught.value.hint == "did you mean `congestion_control`?"
    assert _refusal(write, f'{TWO_PATHS}[sweep]\n"links.link1.bw" = ["1 Mbit/s"]\n').hint == "did you mean `rate`?"


def test_a_key_of_another_table_that_means_nothing_here_is_still_shown_its_table(write: Write) -> None:
    """A delay of a workload could mean its start, but more probably the delay of a link."""
    assert _refusal(write, f'{TWO_PATHS}delay = "10 ms"\n').hint == "`delay` belongs in [links.NAME]"
    hint = _refusal(write, f'{TWO_PATHS}[links.link1]\nduration = "1 s"\n').hint
    assert hint == '`duration` belongs in [workloads.NAME] with kind = "flow"'
