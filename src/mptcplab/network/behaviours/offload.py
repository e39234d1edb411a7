# SPDX-License-Identifier: MIT
"""Segmentation offload: aggregates of a connection's packets that cross a link as one, as with TSO and GRO.

A sender's TCP forms them if its interface can divide them (``sk_setup_caps`` in net/core/sock.c). Here nobody divides
them: queues, captures and the receiver see one large packet. The kernel charges a shaper for the frames that the
aggregate stands for, headers included (``qdisc_pkt_len_init`` in net/core/dev.c).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field

from mptcplab.fields import Misnomers, Part, value_error
from mptcplab.network.behaviour import Behaviour
from mptcplab.network.captions import DirectionCaption
from mptcplab.network.frames import MTU
from mptcplab.units import Size

#: Two full packets, and the limit of the kernel for TCP over IPv4 (``GSO_LEGACY_MAX_SIZE``).
_MIN_AGGREGATE, _MAX_AGGREGATE = 2 * MTU, 65536


class OffloadKeys(Part):
    """The key of segmentation offload."""

    misnomers: ClassVar[Misnomers] = {
        "offload": ("gso", "gro", "tso", "aggregation"),
    }

    offload: Size | None = Field(
        default=None,
        description="packets of a TCP connection cross the link as aggregates of up to this size, as with TSO and GRO; "
        "by default, each on its own",
        examples=["64 kB"],
    )


class Offload(Behaviour[OffloadKeys]):
    """Aggregates in place of single packets: fewer steps for the kernel and for programs, and larger bursts."""

    name = "offload"
    model = OffloadKeys
    order = 15
    example: ClassVar = {"offload": "64 kB"}

    def check(self, keys: OffloadKeys) -> None:
        """See the base class."""
        if keys.offload is not None and not _MIN_AGGREGATE <= keys.offload <= _MAX_AGGREGATE:
            hint = f"use from {_MIN_AGGREGATE} B to {_MAX_AGGREGATE} B, which is what network cards can do"
            raise value_error("is not a supported size of aggregates", hint, "offload")

    def passes_aggregates(self, keys: OffloadKeys) -> bool:  # noqa: ARG002
        """See the base class."""
        return True

    def aggregate(self, keys: OffloadKeys) -> Size | None:
        """See the base class."""
        return keys.offload

    def caption_below(self, shown: DirectionCaption) -> Iterator[str]:
        """See the base class."""
        size = shown.text("offload")
        if size:
            yield f"offload {size}"
