# SPDX-License-Identifier: MIT
"""A file through ``nc``, as people time a bulk transfer: ``time nc HOST PORT < file``.

The file is a pseudo-random stream made on the fly (nothing that large is stored); its checksum is written by the
generator on one side and by the reader on the other.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from mptcplab.plan.model import Program
from mptcplab.scenario.schema import Transfer
from mptcplab.workload.context import FLOW, Context, client, mptcpized, server


def programs(name: str, workload: Transfer, context: Context) -> Iterator[Program]:
    """``nc -l | checksum`` and ``generate | nc``; the client ends when the far end has read everything."""
    family = "-6" if ":" in context.address else "-4"
    listen = mptcpized(("nc", family, "-l", str(context.port)), context.server_protocol)
    yield server(name, workload, _pipe(listen, (FLOW, "sum")))
    generate = (FLOW, "pattern", "--bytes", str(int(workload.size)), "--seed", str(context.seed))
    send = mptcpized(("nc", "-N", context.address, str(context.port)), context.client_protocol)
    yield client(name, workload, _pipe(generate, send))


def _pipe(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...]:
    return ("sh", "-c", f"{shlex.join(left)} | {shlex.join(right)}")
