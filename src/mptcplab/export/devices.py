# SPDX-License-Identifier: MIT
"""The interfaces of a real machine for the links of a node, as an operator names them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from mptcplab.errors import InputError
from mptcplab.scenario.document import name_hint

#: A name that neither a shell nor a configuration file needs to quote; Linux's are at most 15 characters long.
_DEVICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,14}")


def devices_of(words: Iterable[str], links: Collection[str]) -> dict[str, str]:
    """Return devices by link, from words like ``link1=eth0,link2=wlan0``; ``links`` are the node's.

    :raises InputError: for a link that the node does not have, and for a device that cannot be one, or is one already.
    """
    devices: dict[str, str] = {}
    for pair in (pair.strip() for word in words for pair in word.split(",")):
        link, equals, device = pair.partition("=")
        if not equals:
            raise InputError(f"--device: '{pair}' is not LINK=DEVICE", hint="write for example --device link1=eth0")
        if link not in links:
            raise InputError(f"--device: the node has no link '{link}'", hint=name_hint(link, links))
        if not _DEVICE.fullmatch(device):
            hint = "use the name that `ip link` shows, like eth0: at most 15 letters, digits, '.', '-' or '_'"
            raise InputError(f"--device: '{device}' is not the name of an interface", hint=hint)
        if devices.setdefault(link, device) != device:
            raise InputError(f"--device: the link '{link}' has two devices", hint="name one device for each link")
    names = [devices.get(link, link) for link in links]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"--device: '{twice}' is the device of two links", hint="name another device for one of them")
    return devices
