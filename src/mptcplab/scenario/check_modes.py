# SPDX-License-Identifier: MIT
"""Whether modes are of links that a host has, and leave it something to use."""

from __future__ import annotations

from mptcplab.errors import Mistake
from mptcplab.scenario.document import Document, name_hint
from mptcplab.scenario.place import KeyPath
from mptcplab.scenario.schema import Scenario


def check_modes(document: Document, scenario: Scenario) -> None:
    """:raises InputError: for the first mode that means nothing."""
    for name, transport in scenario.transports.items():
        own = [link for link, described in scenario.links.items() if name in described.between]
        modes = transport.modes
        path: KeyPath = (scenario.nodes[name].table, name, "transport", "modes")
        for link in modes:
            if link not in scenario.links:
                hint = name_hint(link, scenario.links)
                raise document.error((*path, link), f"there is no link '{link}'", hint=hint, kind=Mistake.REFERENCE)
            if link not in own:
                hint = f"give every host modes of its own links: '{name}' has {', '.join(own)}"
                raise document.error((*path, link), f"does not end at '{name}'", hint=hint, kind=Mistake.REFERENCE)
        if modes and all(modes.get(link) == "off" for link in own):
            raise document.error(path, "leave no link to use", hint="leave one of them on")
