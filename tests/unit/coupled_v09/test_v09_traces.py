# SPDX-License-Identifier: MIT
"""The `_v09` variants against what the out-of-tree kernel's own code did with the same events."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.unit.coupled_v09.driver import CONGESTION_CONTROLS, OPERATIONS, SOURCES, Driver, Window, compile_driver
from tests.unit.coupled_v09.traces import NAMES, differences, read_trace

pytestmark = pytest.mark.slow

#: File, a part of it, what a faulty file has there, and the congestion controls whose windows must show it. The first
#: ones are faults that the variants had before there were recordings.
FAULTS = {
    "balia-end-of-recovery": ("v09_balia.c", "event == CA_EVENT_COMPLETE_CWR || ", "", ["balia_v09"]),
    "balia-flag-works": (
        "v09_balia.c",
        "\t} else if (v09_count_ack",
        "\t} else if (inet_csk(sk)->icsk_ca_state) {\n\t\tbalia_v09_renew(sk);\n\t} else if (v09_count_ack",
        ["balia_v09"],
    ),
    "balia-min": ("v09_balia.c", "decrease, 1U)", "decrease, 2U)", ["balia_v09"]),
    "balia-no-wrap": ("v09_balia.c", "return TCP_INFINITE_SSTHRESH", "return 1", ["balia_v09"]),
    "w-acks": ("v09.c", "snd_cwnd_cnt < acks", "snd_cwnd_cnt + 1 < acks", ["lia_v09", "balia_v09"]),
    "no-closing": ("v09.c", "path->srtt && v09_can_send(path->sk)", "path->srtt", ["lia_v09", "olia_v09", "balia_v09"]),
    "lia-alpha-of-join": ("v09_lia.c", "group->alpha = 1;", ";", ["lia_v09"]),
    "lia-alpha-at-state": ("v09_lia.c", "group->stale = true", "group->stale = false", ["lia_v09"]),
    "lia-alpha-at-loss": ("v09_lia.c", "event == CA_EVENT_LOSS", "event > 99", ["lia_v09"]),
    "olia-min": ("v09_olia.c", "if (cwnd > 1)", "if (cwnd > 2)", ["olia_v09"]),
    "olia-ssthresh": (
        "v09_olia.c",
        "tcp_snd_cwnd_set(tp, cwnd - 1);",
        "tcp_snd_cwnd_set(tp, tp->snd_ssthresh = cwnd - 1);",
        ["olia_v09"],
    ),
    "olia-remainder": ("v09_olia.c", "olia->credit = 0;\n\t} else", "olia->credit -= 1024;\n\t} else", ["olia_v09"]),
    "olia-recovering": ("v09_olia.c", "== TCP_CA_Recovery))\n", "== 99))\n", ["olia_v09"]),
    "olia-retransmits": ("v09_olia.c", " || inet_csk(sk)->icsk_retransmits", "", ["olia_v09"]),
    "wvegas-ssthresh": ("v09_wvegas.c", "WRITE_ONCE(tp->snd_ssthresh, tcp_current_ssthresh(sk));", "", ["wvegas_v09"]),
    "wvegas-restart": ("v09_wvegas.c", "event == CA_EVENT_CWND_RESTART", "event > 99", ["wvegas_v09"]),
    "wvegas-loss": ("v09_wvegas.c", "event == CA_EVENT_LOSS", "event > 99", ["wvegas_v09"]),
    "wvegas-no-queue": ("v09_wvegas.c", "if (queue_us < 2", "if (!queue_us || queue_us < 2", ["wvegas_v09"]),
    "wvegas-samples": ("v09_wvegas.c", "sample->rtt_us + 1", "sample->rtt_us", ["wvegas_v09"]),
}


@pytest.mark.parametrize("control", CONGESTION_CONTROLS)
def test_as_recorded(driver: Driver, control: str) -> None:
    """Every window and threshold after every event, in connections of one path to four and one without sense."""
    assert not list(differences(driver, control))


def test_recordings_have_every_operation() -> None:
    used = {event.name for name in NAMES for event in read_trace(name, "lia_v09").events}
    assert used == set(OPERATIONS)


@pytest.mark.parametrize("control", CONGESTION_CONTROLS)
def test_recordings_tell_something(control: str) -> None:
    """After one acknowledgement of ten, at least, the window is another one."""
    acks = changes = 0
    for trace in (read_trace(name, control) for name in NAMES):
        last: dict[int, Window] = {}
        for event, window in zip(trace.events, trace.windows, strict=True):
            acks += event.name == "ack"
            changes += event.name == "ack" and window != last.get(event.path)
            last[event.path] = window
    print(f"{changes} changes by {acks} acknowledgements")
    assert changes > acks / 10 > 50


@pytest.mark.parametrize("fault", FAULTS)
def test_recordings_show_a_fault(tmp_path: Path, fault: str) -> None:
    """A congestion control that is wrong in one place does not pass."""
    file, part, instead, controls = FAULTS[fault]
    faulty = tmp_path / "faulty"
    shutil.copytree(SOURCES, faulty)
    source = (faulty / file).read_text()
    assert source.count(part) == 1, f"{file} has no such part any more"
    (faulty / file).write_text(source.replace(part, instead))
    driver = Driver(compile_driver(tmp_path, faulty))
    for control in controls:
        shown = list(differences(driver, control))
        print("\n".join(shown))
        assert shown
