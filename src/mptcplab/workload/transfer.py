# SPDX-License-Identifier: MIT
"""A file through a pipe and a connection, as people time a bulk transfer: ``time nc HOST PORT < file``.

The file is a pseudo-random stream made on the fly (nothing that large is stored); its checksum is written by the
generator on one side and by the reader on the other. ``socat`` moves it: OpenBSD's ``nc`` polls without sleeping once
its standard input has ended while its socket is still full, which in virtual time never ends
(docs/decisions/0004-socat-for-transfers.md).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from mptcplab.plan.model import Program
from mptcplab.scenario.schema import Transfer
from mptcplab.workload.context import FLOW, Context, client, mptcpized, server

#: The reader wakes up for blocks of this size, not for packets: the same bytes at a fraction of the cost.
_BLOCK_BYTES = 65536
_BLOCK = ("-b", str(_BLOCK_BYTES))
#: How long an end waits for the other to close after its own data has ended: as long as it takes.
_PATIENCE = ("-t", "1000000")


def programs(name: str, workload: Transfer, context: Context) -> Iterator[Program]:
    """``listen | checksum`` and ``generate | send``; the client ends when the far end has read everything."""
    is_v6 = ":" in context.address
    listen = ("socat", *_BLOCK, "-u", f"TCP{6 if is_v6 else 4}-LISTEN:{context.port},rcvlowat={_BLOCK_BYTES}", "STDOUT")
    yield server(name, workload, _pipe(mptcpized(listen, context.server_protocol), (FLOW, "sum")))
    generate = (FLOW, "pattern", "--bytes", str(int(workload.size)), "--seed", str(context.seed))
    target = f"TCP6:[{context.address}]:{context.port}" if is_v6 else f"TCP4:{context.address}:{context.port}"
    send = ("socat", *_BLOCK, *_PATIENCE, "STDIO", target)
    yield client(name, workload, _pipe(generate, mptcpized(send, context.client_protocol)))


def _pipe(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...]:
    return ("sh", "-c", f"{shlex.join(left)} | {shlex.join(right)}")
