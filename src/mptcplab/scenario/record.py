# SPDX-License-Identifier: MIT
"""The ``[record]`` table, what is sampled and captured, and ``repeats`` as a table, how often a point runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field, model_validator

from mptcplab.fields import (
    LOOPBACK,
    Boolean,
    InterfaceName,
    Line,
    Misnomers,
    NodeName,
    OneOf,
    Part,
    Time,
    Whole,
    conflict,
    value_error,
    whole_multiple,
)
from mptcplab.scenario.document import Document
from mptcplab.scenario.place import KeyPath
from mptcplab.scenario.references import check_known, check_own_link, check_sockets
from mptcplab.units import Duration, Probability, Size

if TYPE_CHECKING:
    from mptcplab.scenario.network import Network


# The ``[record]`` table: sampling of sockets and queues, and packet captures.

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
            raise value_error(word, hint, "snaplen")
        if self.filter is not None and self.filter.lstrip().startswith("-"):
            hint = 'write a filter, like filter = "tcp port 5001"'
            raise value_error("is an option of tcpdump, not a filter", hint, "filter")
        return self


class Record(Part):
    """Sampling and captures while the workloads run."""

    misnomers: ClassVar[Misnomers] = {
        "interval": ("period", "every", "step", "resolution", "sample_interval", "sampling_interval"),
        "queues": ("queue", "backlog", "qdiscs"),
        "captures": ("capture", "pcap", "pcaps", "tcpdump", "packets"),
    }

    interval: Annotated[Time, whole_multiple(Duration(10**6), "milliseconds")] | None = Field(
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
            raise value_error("is not an interval", 'use "1 ms" or more', "interval")
        return self


def capture_points(network: Network, capture: Capture) -> Iterator[tuple[str, str]]:
    """Yield the interfaces of ``capture``, each after the name of its file in a recording."""
    if capture.link == LOOPBACK:
        yield f"{capture.node}-{LOOPBACK}.pcap", LOOPBACK
    for port in network.ports_of(capture.node):
        if capture.link in (None, port.link):
            yield f"{port.node}-{port.link}.pcap", port.device


def check_captures(document: Document, network: Network) -> None:
    """Check that captures name nodes and links, and write different files. :raises InputError: if not."""
    files: dict[str, int] = {}
    for index, capture in enumerate(network.scenario.record.captures):
        path: KeyPath = ("record", "captures", index)
        check_known(document, (*path, "node"), capture.node, network.nodes, "node")
        if capture.link == LOOPBACK:
            check_sockets(document, (*path, "node"), network, capture.node, "node")
        elif capture.link is not None:
            check_own_link(document, (*path, "link"), network, capture.node, capture.link)
        for file, _ in capture_points(network, capture):
            if file in files:
                hint = "capture each interface once, or rename a node or link if two file names coincide"
                message = f"would write {file}, as captures[{files[file]}] does"
                raise document.error((*path, "node"), message, hint=hint)
            files[file] = index


# ``repeats`` as a table: repeat a point until its interval is narrow enough, or a maximum is reached.

MAX_REPEATS = 10_000


def _metrics() -> dict[str, str]:
    """Return the JSON names of the metrics of which a row has one value from its own runs, by the names that users
    type."""
    from mptcplab.metrics.registry import CALLED, METRICS  # late: few scenarios need it, and it imports all metrics

    return {noun: name for noun, name in CALLED.items() if not METRICS[name].of_rows and not METRICS[name].by_path}


class Repeats(Part):
    """The number of runs of a point: more runs until every workload's interval is narrow enough."""

    misnomers: ClassVar[Misnomers] = {
        "until": ("precision", "target", "width", "error", "ci"),
        "of": ("metric", "what"),
        "min": ("least", "minimum", "at_least"),
        "max": ("most", "maximum", "at_most", "limit"),
    }

    until: Probability = Field(
        description="a point ends when the 95 % confidence interval's half width is at most this share of the mean",
        examples=["2 %"],
    )
    of: Annotated[str, OneOf(_metrics)] = Field(
        default="goodput",
        description="the metric whose mean is used: goodput, duration, retransmitted, or the JSON name of another one "
        "from docs/metrics.md",
    )
    min: Whole = Field(default=3, ge=2, le=MAX_REPEATS, description="minimum number of runs", examples=[3])
    max: Whole = Field(default=30, ge=2, le=MAX_REPEATS, description="maximum number of runs", examples=[30])

    @model_validator(mode="after")
    def _check(self) -> Repeats:
        if self.until == 0:
            raise value_error("is never reached", 'use a share, like until = "2 %"', "until")
        if self.min > self.max:
            raise conflict(f"is more than max = {self.max}", "raise max, or lower min", "min")
        return self

    @property
    def share(self) -> float:
        """The maximum half width, as a share of the mean."""
        return int(self.until) / 1e9

    @property
    def metric(self) -> str:
        """The JSON name of the metric whose mean is used."""
        return _metrics()[self.of]

    def next_total(self, runs: int) -> int:
        """Return the number of runs after the next round: half as many again, so that several can run in parallel.

        It depends on the number of runs only, so that a sweep with more jobs, or a resumed one, makes the same runs.
        """
        return self.min if runs < self.min else min(self.max, runs + (runs + 1) // 2)
