# SPDX-License-Identifier: MIT
"""What the steering daemon reads: reports of agents, with and without the right key, and configurations."""

from __future__ import annotations

import json
from collections.abc import Iterator

from mptcplab.errors import InputError
from mptcplab.steering.configuration import AccessPointConfig, AgentConfig, DaemonConfig
from mptcplab.steering.counters import Counters, drop_conflicts
from mptcplab.steering.reports import ReportError, Station, StationReport, sender_of, sign, verify
from mptcplab.steering.tables import parse_table

_KEY = bytes(range(32))
_S = 10**9
#: The first byte of an input says what the rest is.
_DATAGRAM, _BODY, _DAEMON, _AGENT = b"DBCA"


class SteeringTarget:
    """Datagrams as anybody may send them, bodies that somebody with the key has sealed, and configurations in JSON.

    A body that is accepted is then used for decisions, as the second report of its agent.
    """

    name = "steering"

    def seeds(self) -> Iterator[bytes]:
        """Yield reports of several sizes, and configurations of every policy."""
        for stations in (
            {},
            {"02:00": Station(["10.0.1.1"], 5, 7, -60, 3)},
            {"eth0": Station(["fd00::1"], 0, 0, None)},
        ):
            datagram = StationReport("ap1", _S, stations).to_datagram(_KEY)
            yield bytes([_DATAGRAM]) + datagram
            yield bytes([_BODY]) + datagram[datagram.index(b"{") :]
        points = {name: {"key": _KEY.hex(), "networks": ["10.0.0.0/8"], "wired": True} for name in ("ap1", "ap2")}
        common = {"listen": "[::1]:9100", "period_s": 1, "floor_dbm": -90, "access_points": points}
        for parameters in ({"policy": "ratio", "threshold": 1.05}, {"policy": "fair", "hold_s": 3}, {"policy": "none"}):
            yield bytes([_DAEMON]) + json.dumps({**common, **parameters}).encode()
        agent = {
            "access_point": "ap1",
            "devices": ["wlan0"],
            "server": "192.0.2.1:9100",
            "period_s": 1,
            "key": "00" * 16,
        }
        yield bytes([_AGENT]) + json.dumps(agent).encode()

    def read(self, data: bytes) -> None:
        """Read the input as the daemon or the agent would."""
        kind, rest = data[:1], data[1:]
        if kind in (bytes([_DAEMON]), bytes([_AGENT])):
            table = parse_table(rest.decode(errors="replace"), "argument", json.loads)
            DaemonConfig(table) if kind == bytes([_DAEMON]) else AgentConfig(table)
            return
        try:
            if kind == bytes([_DATAGRAM]):
                sender_of(rest)
                verify(_KEY, rest)
            else:
                _use(verify(_KEY, sign("ap1", _KEY, rest)))
        except ReportError as error:
            # The daemon logs the message.
            raise InputError(f"the report {error}", hint="see docs/steering.md") from error


def _use(report: StationReport) -> None:
    """Use a report as the daemon does, after one without stations."""
    points = [AccessPointConfig(name, _KEY, [], is_wired=False, max_bps=1e9) for name in ("ap1", "ap2")]
    counters = Counters(points, patience_ns=3 * _S, tolerance_ns=_S, max_signal_age_ms=1000)
    now_ns = report.time_ns
    if now_ns > 0:
        counters.take(StationReport("ap1", now_ns - 1, report.stations), now_ns, now_ns)
        counters.periods(now_ns)
    counters.take(report, now_ns, now_ns)
    drop_conflicts(counters.periods(now_ns))
