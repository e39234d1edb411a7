# SPDX-License-Identifier: MIT
"""The description of radios in a recording's manifest: see :mod:`mptcplab.campaign.contract` for everything else.

radios   node, device, role ("access-point" or "station"), mac, access_point, ssid, mode, channel, power_dbm, links, and
         ``program``, whose output has what it hears
tracks   by node: [instant in ns from time zero, x, y in metres], in order; it moves straight between two of them
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mptcplab.plan.radios import WATCHER, radios_of, tracks_of
from mptcplab.scenario.network import Network


def describe_radios(network: Network, seed: int) -> dict[str, Any]:
    """Return the entries ``radios`` and ``tracks``; empty for a scenario without radios."""
    if not network.scenario.has_radios:
        return {}
    tracks = {
        node: [[point.at_ns, *point.position] for point in track] for node, track in tracks_of(network, seed).items()
    }
    return {"radios": list(_radios(network)), "tracks": tracks}


def _radios(network: Network) -> Iterator[dict[str, Any]]:
    for radio in radios_of(network):
        yield {
            "node": radio.node,
            "device": radio.device,
            "role": "station" if radio.is_station else "access-point",
            "mac": radio.mac,
            "access_point": radio.access_point,
            "ssid": radio.cell.ssid,
            "mode": radio.cell.mode,
            "channel": radio.cell.channel,
            "power_dbm": radio.power_dbm,
            "links": list(radio.links),
            "program": WATCHER.format(radio.node),
        }
