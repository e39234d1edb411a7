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
from mptcplab.scenario.types import Protocol
from mptcplab.scenario.workloads import Transfer
from mptcplab.workload.context import FLOW, Context, client, server, with_algorithms

_BLOCK = ("-b", "65536")
#: The reader wakes up for blocks of this size, not for packets: the same bytes at a fraction of the cost. It has to
#: stay below the first receive window (64 KiB), or the sender waits for the reader and the reader for more.
_WAKE_BYTES = 32768
#: How long an end waits for the other to close after its own data has ended: as long as it takes.
_PATIENCE = ("-t", "1000000")


def programs(name: str, workload: Transfer, context: Context) -> Iterator[Program]:
    """A listener that sums what comes, and ``generate | send``, which ends when the far end has read everything."""
    is_v6 = ":" in context.address
    yield server(name, workload, ("sh", "-c", _listen(workload, context, is_v6=is_v6)))
    generate = (FLOW, "pattern", "--bytes", str(int(workload.size)), "--seed", str(context.seed))
    target = f"TCP6:[{context.address}]:{context.port}" if is_v6 else f"TCP4:{context.address}:{context.port}"
    send = ("socat", *_BLOCK, *_PATIENCE, "STDIO", target)
    yield client(name, workload, _pipe(generate, _opened(send, workload, context.client_protocol)))


def _listen(workload: Transfer, context: Context, *, is_v6: bool) -> str:
    """``fork`` keeps the listening socket: without one, further subflows of MPTCP are refused."""
    listen = f"TCP{6 if is_v6 else 4}-LISTEN:{context.port},fork,rcvlowat={_WAKE_BYTES}"
    command = _opened(("socat", *_BLOCK, "-u", listen), workload, context.server_protocol)
    return f"exec {shlex.join(command)} EXEC:'{FLOW} sum'"


def _opened(argv: tuple[str, ...], workload: Transfer, protocol: Protocol) -> tuple[str, ...]:
    """``socat`` knows neither MPTCP nor schedulers."""
    algorithms = (workload.congestion_control, workload.scheduler)
    return with_algorithms(argv, protocol, *algorithms)


def _pipe(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...]:
    return ("sh", "-c", f"{shlex.join(left)} | {shlex.join(right)}")
