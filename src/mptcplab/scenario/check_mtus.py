# SPDX-License-Identifier: MIT
"""What types cannot say of packets' sizes: MTUs that do not fit."""

from __future__ import annotations

from pydantic_core import PydanticCustomError

from mptcplab.network.frames import full_frame
from mptcplab.network.registry import BEHAVIOURS
from mptcplab.scenario.document import Document
from mptcplab.scenario.links import LEAST_MTU_IPV6, WAYS
from mptcplab.scenario.schema import Scenario


def check_mtus(document: Document, scenario: Scenario) -> None:
    """:raises InputError: for the first link whose packets do not fit."""
    for name, link in scenario.links.items():
        if scenario.family == "ipv6" and link.mtu < LEAST_MTU_IPV6:
            hint = f"IPv6 needs {LEAST_MTU_IPV6} B on every link"
            raise document.error(("links", name, "mtu"), "is too small for IPv6", hint=hint)
        for way in WAYS:
            for behaviour in BEHAVIOURS:
                try:
                    behaviour.check_frame(getattr(link, way), full_frame(link.mtu))
                except PydanticCustomError as error:
                    raise document.refusal(("links", name, way), error) from error
