# SPDX-License-Identifier: MIT
"""Packet captures: one ``tcpdump`` per interface, which runs from before time zero to the end.

``tcpdump`` writes to its standard output, since the recording keeps every program's output. The kernel delivers packets
in blocks, which costs little, but up to a second late; packets not delivered when ``tcpdump`` terminates are lost. The
engine terminates servers a second after the last client has ended. So a shell delays the signal by most of another
second, and ``tcpdump`` has a session of its own, which the signal does not reach. Hence a capture lasts at least 0.9 s
longer than the last client.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from mptcplab.recording.captures import PREFIX
from mptcplab.scenario.network import Network
from mptcplab.scenario.record import Capture, capture_points
from mptcplab.steps import Program, shell

#: Buffer for packets that pass while ``tcpdump`` does not run: in virtual time, one burst of the kernel.
_BUFFER_KIB = 16384
_LAST_SECONDS = "0.9"


def capture_programs(network: Network) -> Iterator[Program]:
    """Yield a server for every captured interface."""
    for capture in network.scenario.record.captures:
        for file, device in capture_points(network, capture):
            line = f"setsid {shlex.join(_tcpdump(capture, device))} & p=$!"
            line += f"; trap 'sleep {_LAST_SECONDS}; kill $p' TERM; wait $p || wait $p"
            call = shell(line, "setsid", "tcpdump", "sleep")
            name = PREFIX + file.removesuffix(".pcap")
            yield Program(name, capture.node, "server", call.argv, starts=call.starts)


def _tcpdump(capture: Capture, device: str) -> Iterator[str]:
    yield from ("tcpdump", "-i", device, "-n", "-p", "-s", str(int(capture.snaplen)), "-B", str(_BUFFER_KIB))
    # Without -Z root, Debian's tcpdump switches to another user, who may be missing from /etc/passwd.
    yield from ("-Z", "root", "--time-stamp-precision=nano", "-w", "-")
    if capture.filter is not None:
        yield capture.filter
