# SPDX-License-Identifier: MIT
"""Captures that a scenario asks for: one ``tcpdump`` per interface, running from before time zero to the end.

``tcpdump`` writes to its standard output, as every program's output is kept. The kernel hands packets over in blocks,
which costs little, but up to a second late, and what has not been handed over when ``tcpdump`` is told to end is lost.
Servers are told to end a second after the last client has ended. So a shell keeps the signal back for most of another
second, and ``tcpdump`` has a session of its own, where the signal does not reach it. Hence a capture lasts at least
0.9 s longer than the last client.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from mptcplab.node.graph import Port
from mptcplab.recording.captures import PREFIX
from mptcplab.scenario.network import Network, capture_points
from mptcplab.scenario.record import Capture
from mptcplab.steps import Program, shell

#: Room for what passes while ``tcpdump`` does not run: in virtual time that is one burst of the kernel.
_BUFFER_KIB = 16384
_LAST_SECONDS = "0.9"


def capture_programs(network: Network) -> Iterator[Program]:
    """A server for every interface that is captured."""
    for capture in network.scenario.record.captures:
        for file, port in capture_points(network, capture):
            line = f"setsid {shlex.join(_tcpdump(capture, port))} & p=$!"
            line += f"; trap 'sleep {_LAST_SECONDS}; kill $p' TERM; wait $p || wait $p"
            call = shell(line, "setsid", "tcpdump", "sleep")
            name = PREFIX + file.removesuffix(".pcap")
            yield Program(name, port.node, "server", call.argv, starts=call.starts)


def _tcpdump(capture: Capture, port: Port) -> Iterator[str]:
    yield from ("tcpdump", "-i", port.link, "-n", "-p", "-s", str(int(capture.snaplen)), "-B", str(_BUFFER_KIB))
    # Without -Z root, Debian's tcpdump becomes another user, whom /etc/passwd may lack.
    yield from ("-Z", "root", "--time-stamp-precision=nano", "-w", "-")
    if capture.filter is not None:
        yield capture.filter
