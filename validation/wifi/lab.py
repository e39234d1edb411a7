# SPDX-License-Identifier: MIT
"""A Wi-Fi network as data, and its run in the lab kernel 7.2-wifi."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mptcplab.engine.tools import radio_program

KERNEL = "7.2-wifi"
GUEST = Path(__file__).with_name("guest.py")
#: Interpreter of the guest, which needs no packages.
PYTHON = "/usr/bin/python3"
_TIMEOUT_S = 600

#: Beacons once a second: they take little of the channel's time.
_ACCESS_POINT = "ssid=lab\nchannel=1\nbeacon_int=1000\nwmm_enabled=0\n"
#: `iw set bitrates` fixes only a rate that is basic.
ACCESS_POINT_B = f"{_ACCESS_POINT}hw_mode=b\nsupported_rates=10 20 55 110\nbasic_rates=10 20 110\n"
ACCESS_POINT_G = (
    f"{_ACCESS_POINT}hw_mode=g\nsupported_rates=60 90 120 180 240 360 480 540\nbasic_rates=60 120 240 540\n"
)
#: 802.11n with long guard intervals. Rates of OFDM alone are basic, so that nothing is protected from 802.11b.
ACCESS_POINT_N = (
    "ssid=lab\nchannel=1\nbeacon_int=1000\nwmm_enabled=1\nieee80211n=1\nhw_mode=g\n"
    "supported_rates=60 90 120 180 240 360 480 540\nbasic_rates=60 120 240\n"
)
STATION = '\tssid="lab"\n\tkey_mgmt=NONE\n\tscan_freq=2412\n'


@dataclass(frozen=True)
class Load:
    """Datagrams of ``payload`` bytes, as many as fit, from one node to another.

    ``buffer`` is the size of the sender's buffer in bytes: a few frames, so that it always has one and most of what
    waits is in mac80211.
    """

    source: str
    target: str
    payload: int = 1472
    buffer: int = 64 << 10


@dataclass(frozen=True)
class Network:
    """An experiment: radios with their line of the medium's configuration, and what each of them is.

    ``access_points`` have lines of hostapd; ``stations`` the words of `iw set bitrates`, none for rate control.
    """

    radios: Mapping[str, str]
    access_points: Mapping[str, str]
    stations: Mapping[str, Sequence[str]]
    loads: Sequence[Load]
    medium: str = ""
    commands: Sequence[Sequence[str]] = ()
    """Commands to run in the lab when all stations are associated."""
    warm_s: float = 1.0
    measured_s: float = 10.0
    log: bool = False
    queues_of: Sequence[str] = field(default_factory=tuple)
    networks: Mapping[str, str] = field(default_factory=dict)
    """The network block of wpa_supplicant of stations that have another than :data:`STATION`."""

    @property
    def macs(self) -> dict[str, str]:
        """Address of each radio."""
        return {name: f"02:00:00:01:{index >> 8:02x}:{index & 255:02x}" for index, name in enumerate(self.radios)}

    def specification(self, seed: int) -> dict[str, Any]:
        """Return what the guest reads."""
        lines = [f"radio {name} {mac} {self.radios[name]}" for name, mac in self.macs.items()]
        return {
            "program": str(radio_program()),
            "medium": "\n".join([f"seed {seed}", self.medium, *lines, ""]),
            "log": self.log,
            "macs": self.macs,
            "access_points": dict(self.access_points),
            "stations": {
                name: {"network": self.networks.get(name, STATION), "bitrates": list(words)}
                for name, words in self.stations.items()
            },
            "loads": [
                {"from": load.source, "to": load.target, "bytes": load.payload, "buffer": load.buffer}
                for load in self.loads
            ],
            "commands": [list(words) for words in self.commands],
            "warm_s": self.warm_s,
            "measured_s": self.measured_s,
            "queues_of": list(self.queues_of),
        }


@dataclass(frozen=True)
class RunMeasurements:
    """The measurements of a run; counters of radios cover the measured time alone."""

    goodput_mbps: tuple[float, ...]
    radios: Mapping[str, Mapping[str, Any]]
    after: Mapping[str, Mapping[str, Any]]
    queues: Mapping[str, Mapping[str, str]]
    stations: Mapping[str, str]
    cpu_s: float
    """CPU time of all processes of the run, boot and association included."""

    def collision_probability(self, names: Sequence[str]) -> float:
        """Return collisions over attempts of some radios."""
        attempts = sum(self.radios[name]["attempts"] for name in names)
        return float(sum(self.radios[name]["collisions"] for name in names) / attempts)

    def rates(self, name: str) -> dict[str, int]:
        """Return attempts of a radio by rate in Mbit/s."""
        return {rate: counts["attempts"] for rate, counts in self.radios[name]["rates"].items()}


def measure(network: Network, folder: Path, *, seed: int = 1) -> RunMeasurements:
    """Run an experiment. :raises RuntimeError: with the lab's message if it fails."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "specification.json").write_text(json.dumps(network.specification(seed)))
    command = [sys.executable, "-m", "mptcplab", "exec", "--kernel", KERNEL, "--seed", str(seed), "--no-stdin"]
    command += ["--out", str(folder)]
    guest = [PYTHON, str(GUEST), "/run/out/specification.json", "/run/out/result.json"]
    before_s = _cpu_s()
    done = subprocess.run([*command, "--", *guest], capture_output=True, text=True, timeout=_TIMEOUT_S)
    if done.returncode:
        raise RuntimeError(done.stderr or done.stdout)
    result = json.loads((folder / "result.json").read_text())
    before, after = result["before"]["radios"], result["after"]["radios"]
    return RunMeasurements(
        goodput_mbps=tuple(result["goodput_mbps"]),
        radios={name: _difference(before[name], after[name]) for name in after},
        after=after,
        queues=result["queues"],
        stations=result["stations"],
        cpu_s=_cpu_s() - before_s,
    )


def _cpu_s() -> float:
    """Return the CPU time of all processes that have ended and were started from this one."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the counters of ``after`` less the counters of ``before``, also of tables in it."""
    result: dict[str, Any] = {}
    for key, value in after.items():
        if isinstance(value, dict):
            result[key] = _difference(before.get(key, {}), value)
        elif isinstance(value, int | float):
            result[key] = value - before.get(key, 0)
    return result
