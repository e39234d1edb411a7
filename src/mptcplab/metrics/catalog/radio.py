# SPDX-License-Identifier: MIT
"""The radios of a workload's hosts: signal, bytes at the access points, associations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from statistics import fmean

from mptcplab.metrics.metric import Metric, Subject
from mptcplab.metrics.radios import RadioLink, radio_links, roams

_entry = partial(Metric, section="radio", place=70, digits=1)


def _own(subject: Subject) -> list[RadioLink]:
    """Return the radio links of the workload's hosts."""
    hosts = (subject.ends.sender, subject.ends.receiver)
    return [one for one in radio_links(subject.recording) if one.station in hosts]


def _over(value: Callable[[list[RadioLink]], float | None]) -> Callable[[Subject], float | None]:
    """Return a function of a subject that computes ``value`` of its radio links, None without any."""

    def compute(subject: Subject) -> float | None:
        own = subject.once(_own)
        return value(own) if own else None

    return compute


def _rssi(links: list[RadioLink]) -> float | None:
    heard = [one.rssi_dbm for one in links if one.rssi_dbm is not None]
    return fmean(heard) if heard else None


def _roams(subject: Subject) -> float | None:
    stations = {one.station for one in subject.once(_own)}
    return roams(subject.recording, stations) if stations else None


METRICS = (
    _entry(
        name="rssi_dbm",
        noun="RSSI",
        unit="dBm",
        definition="mean signal at which access points heard the radios of the workload's hosts; mean over their radio "
        "links",
        source="nl80211 at the access points, see [Wi-Fi](wifi.md)",
        value=_over(_rssi),
        lowest=-100.0,
        higher_is_better=True,
    ),
    _entry(
        name="access_point_rx_mb",
        noun="received by access points",
        unit="MB",
        definition="frames of data that access points received from the radios of the workload's hosts, from time zero",
        source="as for RSSI",
        value=_over(lambda links: sum(one.rx_bytes for one in links) / 1e6),
        in_table=False,
        digits=3,
    ),
    _entry(
        name="associations",
        noun="associations",
        unit="",
        definition="associations of the workload's hosts after time zero, when each was associated",
        source="nl80211 at the stations",
        value=_over(lambda links: sum(one.associations for one in links)),
        in_table=False,
    ),
    _entry(
        name="roams",
        noun="roams",
        unit="",
        definition="changes of the access point by radios of the workload's hosts",
        source="nl80211 at the stations",
        value=_roams,
        in_table=False,
    ),
)
