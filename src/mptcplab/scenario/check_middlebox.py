# SPDX-License-Identifier: MIT
"""What types cannot say of links and routers: MTUs that do not fit, and middleboxes at links that are not theirs."""

from __future__ import annotations

from pydantic_core import PydanticCustomError

from mptcplab.network.frames import full_frame
from mptcplab.network.registry import BEHAVIOURS
from mptcplab.scenario.document import Document, name_hint
from mptcplab.scenario.links import LEAST_MTU_IPV6, WAYS
from mptcplab.scenario.network import Network
from mptcplab.scenario.place import KeyPath
from mptcplab.scenario.schema import Scenario


def check_middleboxes(document: Document, scenario: Scenario) -> None:
    """:raises InputError: for the first thing that does not fit together."""
    _check_mtus(document, scenario)
    network = Network(scenario)
    for name, router in scenario.routers.items():
        for path, links in ((("nat",), router.nat), (("middlebox", "out"), router.middlebox.out)):
            _check_own(document, network, name, ("routers", name, *path), links)
        if len(set(router.nat)) != len(router.nat):
            raise document.error(("routers", name, "nat"), "names a link twice", hint="name every link once")


def _check_own(document: Document, network: Network, router: str, path: KeyPath, links: tuple[str, ...]) -> None:
    known = network.links_of(router)
    for index, link in enumerate(links):
        if link not in network.scenario.links:
            hint = name_hint(link, known)
            raise document.error((*path, index), f"there is no link '{link}'", hint=hint)
        if link not in known:
            hint = f"use a link of '{router}': {', '.join(known)}"
            raise document.error((*path, index), f"does not end at '{router}'", hint=hint)


def _check_mtus(document: Document, scenario: Scenario) -> None:
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
