# SPDX-License-Identifier: MIT
"""Networks made slower (validation/fidelity/slower.py): all times and rates of a scenario change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from validation.fidelity import forms
from validation.fidelity.cells import document
from validation.fidelity.classes import SLOWER
from validation.fidelity.slower import MOST_TIMES, TIMES, Slowdown, slower, slower_for_older

from mptcplab.network.disciplines.registry import DISCIPLINES
from mptcplab.scenario.load import load
from mptcplab.scenario.schema import Scenario

_HEAD = """
title = "made"
topology = { preset = "disjoint-paths" }
links.link1.rate = "10 Mbit/s"
links.link1.delay = "10 ms"
links.link2.rate = "10 Mbit/s"
links.link2.delay = "10 ms"
"""
_FLOW = """
[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
duration = "60 s"
"""


def _make(folder: Path, text: str) -> Scenario:
    file = folder / "made.toml"
    file.write_text(_HEAD + text)
    return load(file).points[-1].scenario


def _texts(part: Any, *keys: str) -> list[str]:
    return [str(getattr(part, key)) for key in keys]


def test_a_slower_network_carries_as_many_packets(tmp_path: Path) -> None:
    """A queue in time lasts longer, one in bytes stays: both hold as many bytes as before."""
    more = 'links.link1.forward.queue = "50 ms"\nlinks.link1.backward.queue = "64 kB"\nlinks.link1.loss = "1 %"\n'
    changed = slower(_make(tmp_path, more + _FLOW))
    first, second = changed.links["link1"].forward, changed.links["link1"].backward
    assert _texts(first, "rate", "delay", "queue", "loss") == ["2.5 Mbit/s", "40 ms", "200 ms", "1 %"]
    assert str(second.queue) == "64 kB"
    assert _texts(changed.workloads["bulk"], "duration", "timeout") == ["4 min", "1 h"]
    assert changed.links["access1"] == _make(tmp_path, more + _FLOW).links["access1"], "it has neither rate nor delay"


def test_delays_that_are_drawn_become_longer(tmp_path: Path) -> None:
    more = 'links.link1.jitter = "2 ms"\nlinks.link2.extra_delay = ["0 ms", "1 ms", "5 ms"]\n'
    links = slower(_make(tmp_path, more + _FLOW)).links
    assert str(links["link1"].forward.jitter) == "8 ms"
    assert [str(time) for time in links["link2"].forward.extra_delay] == ["0 ns", "4 ms", "20 ms"]


@pytest.mark.parametrize(
    ("discipline", "expected"),
    [("codel", {"target": "20 ms", "interval": "400 ms"}), ("fq_codel", {"target": "20 ms", "interval": "400 ms"}),
     ("pie", {"target": "60 ms", "update": "60 ms"}), ("fq_pie", {"target": "60 ms", "update": "60 ms"}),
     ("cake", {"interval": "400 ms"}), ("red", {}), ("tail-drop", {})],
)  # fmt: skip
def test_the_own_times_of_a_discipline_become_longer(tmp_path: Path, discipline: str, expected: dict[str, str]) -> None:
    more = f'links.link1.discipline = "{discipline}"\n'
    aqm = slower(_make(tmp_path, more + _FLOW)).links["link1"].forward.aqm
    assert {key: str(value) for key, value in aqm.model_dump(exclude_defaults=True).items()} == expected


def test_given_times_of_a_discipline_become_longer(tmp_path: Path) -> None:
    more = 'links.link1.discipline = "codel"\nlinks.link1.aqm.target = "2 ms"\n'
    more += 'links.link2.discipline = "red"\nlinks.link2.aqm = { min = "10 ms", max = "40 ms" }\n'
    links = slower(_make(tmp_path, more + _FLOW)).links
    assert _texts(links["link1"].forward.aqm, "target", "interval") == ["8 ms", "400 ms"]
    assert _texts(links["link2"].forward.aqm, "min", "max") == ["40 ms", "160 ms"]


def test_every_discipline_can_be_made_slower(tmp_path: Path) -> None:
    """One of a plugin may have times that nobody knows here, and is refused."""
    for name in DISCIPLINES:
        slower(_make(tmp_path, f'links.link1.discipline = "{name}"\n' + _FLOW))


def test_events_come_later_and_set_slower_values(tmp_path: Path) -> None:
    events = """
    [[events]]
    at = "1 s"
    type = "down"
    link = "link1"
    mode = "interface"
    [[events]]
    at = "3 s"
    type = "up"
    link = "link1"
    [[events]]
    at = "4 s"
    type = "change"
    link = "link2"
    rate = "4 Mbit/s"
    delay = "30 ms"
    jitter = "1 ms"
    loss = "2 %"
    """
    down, up, change = slower(_make(tmp_path, _FLOW + events)).events
    assert (str(down.at), down.mode, str(up.at)) == ("4 s", "interface", "12 s")
    values = {key: str(value) for key, value in change.new.items()}
    assert values == {"rate": "1 Mbit/s", "delay": "120 ms", "jitter": "4 ms", "loss": "2 %"}


def test_a_trace_becomes_slower_and_is_another_one(tmp_path: Path) -> None:
    """Its digest is the digest of a file; a slower scenario must not be taken for it."""
    (tmp_path / "ride.csv").write_text("time_s,rate_mbit_s,delay_ms,loss_percent\n0,20,25,0\n4,8,30,1\n")
    scenario = _make(tmp_path, _FLOW).model_copy()
    text = _HEAD.replace(
        'links.link1.rate = "10 Mbit/s"\nlinks.link1.delay = "10 ms"', 'links.link1.trace = "ride.csv"'
    )
    (tmp_path / "traced.toml").write_text(text + _FLOW)
    scenario = load(tmp_path / "traced.toml").points[-1].scenario
    before, after = scenario.links["link1"].forward, slower(scenario).links["link1"].forward
    assert before.traced is not None
    assert after.traced is not None
    first, second = after.traced.read.steps
    assert dict(first.values) == {"rate": 5_000_000, "delay": 100_000_000, "loss": 0}
    assert (second.at_ns, dict(second.values)["loss"]) == (16 * 10**9, 10**7)
    assert after.traced.read.period_ns == TIMES * before.traced.read.period_ns
    assert after.traced.sha256 != before.traced.sha256
    assert before.rate is not None
    assert after.rate == before.rate // TIMES, "the mean, by which queues are sized"


@pytest.mark.parametrize(
    ("keys", "expected"),
    [('kind = "udp"\nrate = "4 Mbit/s"\non = "1 s"\noff = "2 s"', {"rate": "1 Mbit/s", "on": "4 s", "off": "8 s"}),
     ('kind = "web"\ninterval = "100 ms"', {"interval": "400 ms", "response": "30 kB"}),
     ('kind = "requests"\nthink = "50 ms"', {"think": "200 ms"}),
     ('kind = "stream"', {"interval": "40 ms", "deadline": "600 ms", "packet": "1.2 kB"}),
     ('kind = "voip"', {"interval": "20 ms", "playout": "240 ms"}),
     ('kind = "flow"\nread_quantum = "5 ms"\nstart = "1 s"', {"read_quantum": "20 ms", "start": "4 s"}),
     ('kind = "iperf3"', {"duration": "40 s"})],
)  # fmt: skip
def test_workloads_have_more_time_for_the_same(tmp_path: Path, keys: str, expected: dict[str, str]) -> None:
    """A call's codec sends at its own rate: the duration of the voice in a packet decides on the packet's size."""
    text = f'[workloads.made]\nfrom = "client"\nto = "server"\nduration = "10 s"\n{keys}\n'
    changed = slower(_make(tmp_path, text)).workloads["made"]
    assert _texts(changed, *expected) == list(expected.values())
    assert str(getattr(changed, "duration")) == "40 s"  # noqa: B009


def test_samples_are_as_many_as_before(tmp_path: Path) -> None:
    changed = slower(_make(tmp_path, _FLOW + '[record]\ninterval = "50 ms"\n'))
    assert str(changed.record.interval) == "200 ms"


def test_what_has_a_time_of_its_own_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="radio"):
        slower(load(forms.files()["wifi/two-bands"]).points[-1].scenario)
    with pytest.raises(ValueError, match="CPU"):
        slower(load(forms.files()["gateways/slow-vps"]).points[-1].scenario)
    text = _HEAD.replace('link2.delay = "10 ms"', 'link2.delay = "3 s"\nlinks.link2.jitter = "1 s"')
    (tmp_path / "jumping.toml").write_text(text + _FLOW)
    with pytest.raises(ValueError, match=r"made slower, .*link2.*not plausible"):
        slower(load(tmp_path / "jumping.toml").points[-1].scenario)


def test_outages_and_programs_of_the_users_stay_with_a_scenario() -> None:
    outage = load(forms.files()["gateways/outage"]).points[-1].scenario
    before, after = (next(iter(scenario.gateways.values())).outages[-1] for scenario in (outage, slower(outage)))
    assert (int(after.at), int(after.downtime)) == (TIMES * int(before.at), TIMES * int(before.downtime))
    control = load(forms.files()["ebpf/my-control"]).points[-1].scenario
    assert slower(control).bpf == control.bpf != ()


def test_far_slower_networks_stay_below_the_timer_of_syns(tmp_path: Path) -> None:
    """Beyond it a connection begins otherwise, and MPTCP may fall back; four times slower is what all rows have."""
    farther = Slowdown(MOST_TIMES)
    with pytest.raises(ValueError, match=r"64 times slower, a delay of 0.64 s would exceed the timer of SYNs"):
        farther.apply(_make(tmp_path, _FLOW))
    text = _HEAD.replace('"10 ms"', '"5 ms"')
    (tmp_path / "near.toml").write_text(text + _FLOW.replace("60 s", "10 s"))
    changed = farther.apply(load(tmp_path / "near.toml").points[-1].scenario)
    assert _texts(changed.links["link1"].forward, "rate", "delay") == ["156250 bit/s", "320 ms"]


@pytest.mark.parametrize(("delay", "is_kept"), [("187 ms", False), ("188 ms", True)])
def test_mptcp_stays_where_a_handshake_takes_long(delay: str, is_kept: bool, tmp_path: Path) -> None:
    """Four times slower, a delay of 188 ms is a round trip of 1.5 s: with ARP before it, the fourth SYN has left."""
    (tmp_path / "long.toml").write_text(_HEAD.replace('"10 ms"', f'"{delay}"') + _FLOW)
    scenario = load(tmp_path / "long.toml").points[-1].scenario
    setting = "net.mptcp.syn_retrans_before_tcp_fallback"
    values = {name: transport.sysctl.get(setting) for name, transport in slower(scenario).transports.items()}
    assert values == dict.fromkeys(("client", "server"), 128 if is_kept else None)
    if is_kept:
        with pytest.raises(ValueError, match="MPTCP would fall back on this kernel"):
            slower_for_older(scenario)
    else:
        assert slower_for_older(scenario) == slower(scenario)


def test_no_comparison_of_mptcp_is_one_of_tcp() -> None:
    """It was in eight scenarios. In many-flows the server has plain TCP on purpose."""
    uses = {
        name: scenario["sides"].get(SLOWER, {}).get("mptcp", {}) for name, scenario in document()["scenarios"].items()
    }
    fallen = {name for name, use in uses.items() if any("fell back" in str(text) for text in use.values())}
    assert fallen == {"behaviour/many-flows"}
