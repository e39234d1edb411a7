# SPDX-License-Identifier: MIT
"""Requests of netlink for ``ethtool -K``. Layouts and numbers: include/uapi/linux/ethtool_netlink.h.

The kernel then has the same state as after the program.
"""

from __future__ import annotations

import struct

from mptcplab.guest.command_form import UnknownFormError
from mptcplab.guest.netlink import ACK, GENERIC, attribute, integer_attribute, nested_attribute, text_attribute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mptcplab.guest.command_form import Request
    from mptcplab.guest.direct import Place

_FAMILY = "ethtool"
_SET_FEATURES = 12
#: struct genlmsghdr: command, version.
_GENERIC = struct.Struct("=BB2x")
_HEADER, _HEADER_INDEX, _HEADER_FLAGS, _WITHOUT_REPLY = 1, 1, 3, 2
_WANTED, _BITS, _BIT, _BIT_NAME, _BIT_VALUE = 3, 3, 1, 2, 3
#: The kernel's names of each feature that ethtool(8) can set.
_FEATURES = {
    "tso": (
        "tx-tcp-segmentation",
        "tx-tcp-ecn-segmentation",
        "tx-tcp-mangleid-segmentation",
        "tx-tcp6-segmentation",
        "tx-tcp-accecn-segmentation",
    ),
    "gso": ("tx-generic-segmentation",),
    "gro": ("rx-gro",),
}
#: Features that Linux 6.18 added: older kernels refuse a request that names them.
_NEW = frozenset({"tx-tcp-accecn-segmentation"})


def offload_requests(words: list[str], place: Place) -> list[Request]:
    """Return alternative requests for ``ethtool -K`` with these words: the kernel must accept one of them.

    :raises UnknownFormError: if their form is not supported. :raises OSError: if it names an interface that does not exist.
    """
    device, names, states = words[0], words[1::2], words[2::2]
    if len(names) != len(states) or not set(names) <= set(_FEATURES) or not set(states) <= {"on", "off"}:
        raise UnknownFormError
    wanted = {feature: state for name, state in zip(names, states, strict=True) for feature in _FEATURES[name]}
    head = nested_attribute(
        _HEADER,
        integer_attribute(_HEADER_INDEX, place.index(device), 4),
        integer_attribute(_HEADER_FLAGS, _WITHOUT_REPLY, 4),
    )
    old = {feature: state for feature, state in wanted.items() if feature not in _NEW}
    bodies = [_GENERIC.pack(_SET_FEATURES, 1) + head + _bitset(features) for features in (wanted, old)]
    return [(GENERIC, place.family(_FAMILY), ACK, body) for body in bodies]


def _bitset(features: dict[str, str]) -> bytes:
    bits = (nested_attribute(_BIT, *_bit(name, state)) for name, state in features.items())
    return nested_attribute(_WANTED, nested_attribute(_BITS, *bits))


def _bit(name: str, state: str) -> Iterator[bytes]:
    yield text_attribute(_BIT_NAME, name)
    if state == "on":
        yield attribute(_BIT_VALUE, b"")
