# SPDX-License-Identifier: MIT
"""What downloads by Debian's servers and ``curl`` have in common: the file that is served, and how it is fetched."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from mptcplab.plan.model import Program
from mptcplab.scenario.types import Protocol
from mptcplab.scenario.workloads import Download
from mptcplab.workload.context import FLOW, Context, client, server, with_algorithms

#: How much of a file is pseudo-random and lies in memory. What is beyond is zeros, which take no room.
_RANDOM_BYTES = 128 * 2**20
NAME = "file"
#: What ``xargs`` replaces by a number, wherever it stands: nothing else may have it in its name.
_NUMBER = "MPTCPLAB_FILE_NUMBER"
_TIMES = r'%{stderr}{"event":"curl","time_connect":%{time_connect},"time_total":%{time_total}}\n'


def folder(name: str) -> str:
    """Where a workload's server finds its file."""
    return f"/tmp/mptcplab-{name}"


def prepare(name: str, workload: Download, context: Context) -> str:
    """Shell commands that make the file; its checksum ends up in the server's standard error, as does the client's."""
    place, file = folder(name), f"{folder(name)}/{NAME}"
    part = str(min(int(workload.size), _RANDOM_BYTES))
    make = shlex.join((FLOW, "pattern", "--bytes", part, "--seed", str(context.seed)))
    grow = shlex.join(("truncate", "--size", str(int(workload.size)), file))
    return f"mkdir -p {place} && {make} > {file} 2> /dev/null && {grow} && {FLOW} sum < {file}"


def download(name: str, workload: Download, context: Context, *, scheme: str, serve: str) -> Iterator[Program]:
    """The shell line ``serve`` as a server until the end, and a client that ends with the last file."""
    yield server(name, workload, ("sh", "-c", serve))
    line = _fetch(workload, _url(scheme, context), context.client_protocol)
    yield client(name, workload, ("sh", "-c", line))


def _fetch(workload: Download, url: str, protocol: Protocol) -> str:
    """One ``curl`` per file, so many at a time; each tells its times, and what came is summed."""
    options = ("--silent", "--show-error", "--fail", "--write-out", _TIMES)
    algorithms = (workload.congestion_control, workload.scheduler)
    curl = with_algorithms(("curl", *options, url), protocol, *algorithms)
    one = f"{shlex.join(curl)} | {FLOW} sum"
    if workload.files == 1:
        return one
    many = f"xargs -P {workload.connections} -I {_NUMBER} sh -c {shlex.quote(f'{one} # {_NUMBER}')}"
    return f"seq {workload.files} | {many}"


def _url(scheme: str, context: Context) -> str:
    """Of the file."""
    host = f"[{context.address}]" if ":" in context.address else context.address
    return f"{scheme}://{host}:{context.port}/{NAME}"
