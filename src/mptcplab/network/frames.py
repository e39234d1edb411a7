# SPDX-License-Identifier: MIT
"""Sizes of frames, as queueing disciplines count them."""

from __future__ import annotations

MTU = 1500
ETHERNET = 14


def full_frame(mtu: int = MTU) -> int:
    """Return the bytes of a full packet: the MTU and an Ethernet header."""
    return mtu + ETHERNET
