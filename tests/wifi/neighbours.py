# SPDX-License-Identifier: MIT
"""Networks beside others, for several tests of the medium."""

from __future__ import annotations

from dataclasses import replace

from validation.wifi.lab import ACCESS_POINT_B, Network


def beside_802_11b(network: Network) -> Network:
    """Return a network with an access point of 802.11b on its channel, which hostapd hears while it warms up."""
    return replace(
        network,
        warm_s=4,
        radios={**network.radios, "old": "at 0 5 dsss-only"},
        access_points={**network.access_points, "old": ACCESS_POINT_B.replace("ssid=lab", "ssid=old")},
    )
