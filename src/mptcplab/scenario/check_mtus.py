# SPDX-License-Identifier: MIT
"""What types cannot say of packets' sizes: MTUs that do not fit."""

from __future__ import annotations

from mptcplab.scenario.document import Document
from mptcplab.scenario.links import LEAST_MTU_IPV6
from mptcplab.scenario.schema import Scenario

_ETHERNET = 14


def check_mtus(document: Document, scenario: Scenario) -> None:
    """:raises InputError: for the first link whose packets do not fit."""
    for name, link in scenario.links.items():
        if scenario.family == "ipv6" and link.mtu < LEAST_MTU_IPV6:
            hint = f"IPv6 needs {LEAST_MTU_IPV6} B on every link"
            raise document.error(("links", name, "mtu"), "is too small for IPv6", hint=hint)
        for way in ("forward", "backward"):
            burst = getattr(link, way).burst
            if burst is not None and burst < link.mtu + _ETHERNET:
                hint = f"use at least {link.mtu + _ETHERNET} B with this MTU"
                raise document.error(("links", name, way, "burst"), "is less than one frame", hint=hint)
