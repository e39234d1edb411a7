# SPDX-License-Identifier: MIT
"""What a scenario may say about what is written down: samples of sockets, and captures of packets."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from mptcplab.fields import Boolean, Line, LinkName, NodeName, Part, Time, invalid, whole_units
from mptcplab.units import Duration, Size

#: Ethernet, IPv6 and the longest TCP header take 114 bytes; tcpdump writes no longer packets than the other.
_MIN_SNAPLEN, _MAX_SNAPLEN = 128, 262144


class Capture(Part):
    """Packets of one interface, or of all of a node's, written to ``captures/NODE-LINK.pcap`` by ``tcpdump``."""

    node: NodeName = Field(description="host or router on which the packets are seen", examples=["client"])
    link: LinkName | None = Field(
        default=None,
        description="the link at whose end they are seen; default every link of the node",
        examples=["link1"],
    )
    snaplen: Size = Field(
        default=Size(_MIN_SNAPLEN),
        description="bytes kept of every packet; all headers fit the default",
        examples=["256 KiB"],
    )
    filter: Line | None = Field(
        default=None, description="keep only these packets, as in pcap-filter(7)", examples=["tcp port 5001"]
    )

    @model_validator(mode="after")
    def _possible(self) -> Capture:
        if not _MIN_SNAPLEN <= self.snaplen <= _MAX_SNAPLEN:
            word = "cuts headers off" if self.snaplen < _MIN_SNAPLEN else "is longer than any packet"
            hint = f'use from "{_MIN_SNAPLEN} B" to "{_MAX_SNAPLEN // 1024} KiB", which keeps whole packets'
            raise invalid(word, hint, "snaplen")
        if self.filter is not None and self.filter.lstrip().startswith("-"):
            raise invalid("is an option of tcpdump, not a filter", 'for example filter = "tcp port 5001"', "filter")
        return self


class Record(Part):
    """What is sampled and captured while the workloads run."""

    interval: Annotated[Time, whole_units(Duration(10**6), "milliseconds")] | None = Field(
        default=None,
        description="time between samples of every socket and queue; default: about a hundredth of the time that the "
        "workloads are likely to take, from 10 ms to 1 s",
        examples=["100 ms"],
    )
    queues: Boolean = Field(default=True, description="sample what waits in the queue of every direction with a rate")
    captures: tuple[Capture, ...] = Field(
        default=(), description="packets that are written to files", examples=[[{"node": "client", "link": "link1"}]]
    )

    @model_validator(mode="after")
    def _possible(self) -> Record:
        if self.interval == 0:
            raise invalid("is no interval", 'sample at most every "1 ms"', "interval")
        return self
