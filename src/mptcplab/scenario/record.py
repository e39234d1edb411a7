# SPDX-License-Identifier: MIT
"""The ``[record]`` table: sampling of sockets and queues, and packet captures."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from mptcplab.fields import Boolean, InterfaceName, Line, Misnomers, NodeName, Part, Time, invalid, whole_units
from mptcplab.units import Duration, Size

#: Ethernet, IPv6 and the longest TCP header take 114 bytes; tcpdump truncates packets to the maximum.
_MIN_SNAPLEN, _MAX_SNAPLEN = 128, 262144


class Capture(Part):
    """A capture by ``tcpdump`` at one or all interfaces of a node, written to ``captures/NODE-LINK.pcap``."""

    misnomers: ClassVar[Misnomers] = {
        "node": ("host", "at", "on", "where"),
        "link": ("links", "interface", "iface", "device", "dev"),
        "snaplen": ("snap", "length", "snapshot_length", "bytes"),
        "filter": ("expression", "expr", "bpf"),
        "statistics": ("stats", "analyse", "analyze", "summary"),
    }

    node: NodeName = Field(description="the node whose packets are captured", examples=["client"])
    link: InterfaceName | None = Field(
        default=None,
        description='the link at whose end packets are captured, or "lo" for the loopback interface, over which the '
        "node's programs talk to each other; default: all links of the node, but not lo",
        examples=["link1", "lo"],
    )
    snaplen: Size = Field(
        default=Size(_MIN_SNAPLEN),
        description="bytes kept of each packet; the default fits all headers",
        examples=["256 KiB"],
    )
    filter: Line | None = Field(
        default=None, description="a filter of packets, as in pcap-filter(7)", examples=["tcp port 5001"]
    )

    statistics: Boolean = Field(
        default=False, description="compute the metrics of captured packets, by tshark: throughput, times between them"
    )

    @model_validator(mode="after")
    def _check(self) -> Capture:
        if not _MIN_SNAPLEN <= self.snaplen <= _MAX_SNAPLEN:
            word = "truncates headers" if self.snaplen < _MIN_SNAPLEN else "is longer than any packet"
            hint = f'use from "{_MIN_SNAPLEN} B" to "{_MAX_SNAPLEN // 1024} KiB", which keeps whole packets'
            raise invalid(word, hint, "snaplen")
        if self.filter is not None and self.filter.lstrip().startswith("-"):
            hint = 'write a filter, like filter = "tcp port 5001"'
            raise invalid("is an option of tcpdump, not a filter", hint, "filter")
        return self


class Record(Part):
    """Sampling and captures while the workloads run."""

    misnomers: ClassVar[Misnomers] = {
        "interval": ("period", "every", "step", "resolution", "sample_interval", "sampling_interval"),
        "queues": ("queue", "backlog", "qdiscs"),
        "captures": ("capture", "pcap", "pcaps", "tcpdump", "packets"),
    }

    interval: Annotated[Time, whole_units(Duration(10**6), "milliseconds")] | None = Field(
        default=None,
        description="time between samples of every socket and queue; default: about a hundredth of the expected "
        "duration of the workloads, from 10 ms to 1 s",
        examples=["100 ms"],
    )
    queues: Boolean = Field(default=True, description="sample the queue of every direction with a rate")
    captures: tuple[Capture, ...] = Field(
        default=(), description="packet captures", examples=[[{"node": "client", "link": "link1"}]]
    )

    @model_validator(mode="after")
    def _check(self) -> Record:
        if self.interval == 0:
            raise invalid("is not an interval", 'use "1 ms" or more', "interval")
        return self
