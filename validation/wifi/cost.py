# SPDX-License-Identifier: MIT
"""The cost of the medium: wall time of a run, and CPU time per frame in the air, boot and association included."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from validation.wifi.bianchi import DOT11B, DOT11G
from validation.wifi.experiments import Measure, names, ring
from validation.wifi.ht import ring_n
from validation.wifi.lab import ACCESS_POINT_B, Load, Network

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
#: The same of 802.11n, in a part of their own.
NETWORKS_N: Mapping[str, Callable[[], Network]] = {
    "10 stations, 802.11n, uploads": lambda: ring_n(10, seconds=_SECONDS),
}


_ROOT = Path(__file__).resolve().parents[2]
#: Scenarios with TCP and MPTCP, by what the table calls them. Their downloads last a minute.
SCENARIOS: Mapping[str, Path] = {
    "2 access points, 9 stations, 802.11b, a scenario with TCP": Path(__file__).with_name("nine-stations.toml"),
    "2 access points, 8 hosts with 2 stations, 802.11b, a scenario with MPTCP": _ROOT
    / "examples/wifi/many-terminals.toml",
}
SCENARIOS_N: Mapping[str, Path] = {
    "2 access points, 1 host with 2 stations, 802.11n, a scenario with MPTCP": _ROOT / "examples/wifi/two-bands.toml",
}


@dataclass(frozen=True)
class CostRow:
    """Wall time and CPU time of one run, and attempts to send a frame."""

    network: str
    virtual_s: float
    wall_s: float
    cpu_s: float
    attempts: int
    us_per_attempt: float


def measure(name: str, run: Measure) -> CostRow:
    """Run a network of :data:`NETWORKS` or :data:`NETWORKS_N` for a minute."""
    networks = {**NETWORKS, **NETWORKS_N}
    network = replace(networks[name](), warm_s=0.0, measured_s=_SECONDS)
    begin_s = time.monotonic()
    result = run(network, f"cost-{list(networks).index(name)}")
    wall_s = time.monotonic() - begin_s
    attempts = sum(int(counters["attempts"]) for counters in result.radios.values())
    return CostRow(name, _SECONDS, wall_s, result.cpu_s, attempts, 1e6 * result.cpu_s / attempts)


def measured_scenario(name: str, folder: Path, *, seed: int) -> CostRow:
    """Run one of :data:`SCENARIOS` or :data:`SCENARIOS_N` with `mptcplab run`, whose start and evaluation count too.

    :raises RuntimeError: with its message if it fails.
    """
    file = {**SCENARIOS, **SCENARIOS_N}[name]
    out = folder / file.stem
    settings = ["--set", f"workloads.*.duration={_SECONDS:g} s", "--seed", str(seed), "--fresh", "--out", str(out)]
    before_s, begin_s = _cpu_of_children_s(), time.monotonic()
    command = [sys.executable, "-m", "mptcplab", "run", str(file), *settings]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    cpu_s, wall_s = _cpu_of_children_s() - before_s, time.monotonic() - begin_s
    (counters,) = out.glob("runs/*/counters/*/medium.json")
    attempts = sum(int(radio["attempts"]) for radio in json.loads(counters.read_text())["radios"].values())
    return CostRow(name, _SECONDS, wall_s, cpu_s, attempts, 1e6 * cpu_s / attempts)


def _cpu_of_children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
