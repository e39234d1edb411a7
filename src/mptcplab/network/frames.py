# SPDX-License-Identifier: MIT
"""Sizes of frames, as queueing disciplines count them."""

from __future__ import annotations

from math import ceil

MTU = 1500
ETHERNET = 14
#: IPv6, and TCP with all options.
_MAX_HEADERS = 40 + 60


def full_frame(mtu: int = MTU) -> int:
    """Return the bytes of a full packet: the MTU and an Ethernet header."""
    return mtu + ETHERNET


def frames_of_aggregate(size: int, mtu: int = MTU) -> int:
    """Return the most bytes of the frames that an aggregate of ``size`` bytes stands for."""
    return size + ceil(size / (mtu - _MAX_HEADERS)) * (_MAX_HEADERS + ETHERNET)
