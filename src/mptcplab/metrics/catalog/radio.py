# SPDX-License-Identifier: MIT
"""The radios of a workload's hosts: signal, bytes at the access points, associations; and the moves of terminals."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from statistics import fmean

from mptcplab.metrics.column import Display, Metric, Subject
from mptcplab.metrics.delivery import find_common_span_s
from mptcplab.metrics.radios import RadioLink, count_roams, radio_links
from mptcplab.recording.record import Recording
from mptcplab.workload.recorded import read_programs, read_zero_ns

# The radios of a workload's hosts: signal, bytes at the access points, associations.

_entry = partial(Metric, section="radio", display=Display(digits=1))


def _workload_radios(subject: Subject) -> list[RadioLink]:
    """Return the radio links of the workload's hosts."""
    hosts = (subject.ends.sender, subject.ends.receiver)
    return [radio_link for radio_link in radio_links(subject.recording) if radio_link.station in hosts]


def _reduce(value: Callable[[list[RadioLink]], float | None]) -> Callable[[Subject], float | None]:
    """Return a function of a subject that computes ``value`` of its radio links, None without any."""

    def compute(subject: Subject) -> float | None:
        links = subject.compute_once(_workload_radios)
        return value(links) if links else None

    return compute


def _rssi(links: list[RadioLink]) -> float | None:
    heard = [link.rssi_dbm for link in links if link.rssi_dbm is not None]
    return fmean(heard) if heard else None


def _count_roams(subject: Subject) -> float | None:
    stations = {link.station for link in subject.compute_once(_workload_radios)}
    return count_roams(subject.recording, stations) if stations else None


METRICS = (
    _entry(
        name="rssi_dbm",
        noun="RSSI",
        unit="dBm",
        definition="mean signal at which access points heard the radios of the workload's hosts; mean over their radio "
        "links",
        source="nl80211 at the access points, see [Wi-Fi](wifi.md)",
        value=_reduce(_rssi),
        higher_is_better=True,
        display=Display(digits=1, lowest=-100.0),
    ),
    _entry(
        name="access_point_rx_mb",
        noun="received by access points",
        unit="MB",
        definition="frames of data that access points received from the radios of the workload's hosts, from time zero",
        source="as for RSSI",
        value=_reduce(lambda links: sum(link.rx_bytes for link in links) / 1e6),
        display=Display(in_table=False, digits=3),
    ),
    _entry(
        name="associations",
        noun="associations",
        unit="",
        definition="associations of the workload's hosts after time zero, when each was associated",
        source="nl80211 at the stations",
        value=_reduce(lambda links: sum(link.associations for link in links)),
        display=Display(in_table=False, digits=1),
    ),
    _entry(
        name="roams",
        noun="roams",
        unit="",
        definition="changes of the access point by radios of the workload's hosts",
        source="nl80211 at the stations",
        value=_count_roams,
        display=Display(in_table=False, digits=1),
    ),
)


# The moves of terminals in runs with ``[steering]``, from the log of the daemon.

#: The output of the daemon, see mptcplab/plan/steering.py.
_LOG = "steering"
_NS = 1e9


def _count_switches(subject: Subject) -> float | None:
    return count_switches(subject.recording)


def count_switches(recording: Recording) -> float | None:
    """Return how many terminals the daemon moved while all workloads ran; None in a run without steering."""
    if not any(program.name == _LOG for program in read_programs(recording)):
        return None
    lines = [json.loads(line) for line in recording.output(_LOG).splitlines() if line.startswith("{")]
    times_s = [(line["t_ns"] - read_zero_ns(recording)) / _NS for line in lines if line["event"] == "switch"]
    begin_s, end_s = find_common_span_s(recording) or (0.0, float("inf"))
    return float(sum(begin_s <= time_s <= end_s for time_s in times_s))


SWITCHES = Metric(
    name="switches",
    noun="switches",
    unit="",
    definition="terminals that the [steering](steering.md) daemon moved while all workloads ran",
    source="the daemon's log",
    section="steering",
    value=_count_switches,
    display=Display(digits=1),
)
