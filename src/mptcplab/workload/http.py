# SPDX-License-Identifier: MIT
"""Downloads by HTTP: ``lighttpd`` serves one file from memory, ``curl`` fetches it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from mptcplab.plan.model import Program
from mptcplab.scenario.workloads import Http
from mptcplab.workload import files
from mptcplab.workload.context import Context, with_algorithms


def programs(name: str, workload: Http, context: Context) -> Iterator[Program]:
    """A server until the end, and a client that ends with the last file."""
    return files.download(name, workload, context, scheme="http", serve=_serve(name, workload, context))


def _serve(name: str, workload: Http, context: Context) -> str:
    place = files.folder(name)
    is_v6 = ":" in context.address
    settings = (
        f'server.document-root = "{place}"',
        f"server.port = {context.port}",
        # All addresses: subflows may come to any of them.
        'server.bind = "[::]"' if is_v6 else 'server.bind = "0.0.0.0"',
        f"server.max-connections = {max(256, 2 * workload.connections)}",
    )
    algorithms = (workload.congestion_control, workload.scheduler)
    run = with_algorithms(("lighttpd", "-D", "-f", f"{place}.conf"), context.server_protocol, *algorithms)
    write = f"printf '%s\\n' {shlex.join(settings)} > {place}.conf"
    return f"{files.prepare(name, workload, context)} && {write} && exec {shlex.join(run)}"
