# SPDX-License-Identifier: MIT
"""The cost of the medium: CPU time of a run per frame in the air, boot and association included."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from bench.wifi.bianchi import DOT11B, DOT11G
from bench.wifi.experiments import Measure, names, ring
from bench.wifi.lab import ACCESS_POINT_B, Load, Network

_SECONDS = 60.0


def _two_access_points() -> Network:
    """Nine stations at two access points on channels that do not meet, one of them alone: the layout of asakura2019."""
    stations = names(9)
    places = {name: f"at {index} 5" for index, name in enumerate(stations)}
    near = {name: "one" if name == "sta0" else "two" for name in stations}
    other = ACCESS_POINT_B.replace("ssid=lab", "ssid=lab2").replace("channel=1", "channel=6")
    return Network(
        radios={"one": "at 0 0", "two": "at 10 0", **places},
        access_points={"one": ACCESS_POINT_B, "two": other},
        stations=dict.fromkeys(stations, ("legacy-2.4", "11")),
        loads=[Load(near[name], name) for name in stations],
        medium="basic-rates 1 2 11",
        networks=dict.fromkeys(stations[1:], '\tssid="lab2"\n\tkey_mgmt=NONE\n\tscan_freq=2437\n'),
    )


NETWORKS: Mapping[str, Callable[[], Network]] = {
    "2 access points, 9 stations, 802.11b, downloads": _two_access_points,
    "1 station, 802.11b, upload": lambda: ring(DOT11B, 1, seconds=_SECONDS),
    "10 stations, 802.11g, uploads": lambda: ring(DOT11G, 10, seconds=_SECONDS),
}


@dataclass(frozen=True)
class CostRow:
    """CPU time of one run, and attempts to send a frame."""

    network: str
    virtual_s: float
    cpu_s: float
    attempts: int
    us_per_attempt: float


def measured(name: str, run: Measure) -> CostRow:
    """Run a network of :data:`NETWORKS` for a minute."""
    network = replace(NETWORKS[name](), warm_s=0.0, measured_s=_SECONDS)
    result = run(network, f"cost-{list(NETWORKS).index(name)}")
    attempts = sum(int(counters["attempts"]) for counters in result.radios.values())
    return CostRow(name, _SECONDS, result.cpu_s, attempts, 1e6 * result.cpu_s / attempts)
