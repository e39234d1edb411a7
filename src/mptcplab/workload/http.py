# SPDX-License-Identifier: MIT
"""Downloads by HTTP: ``lighttpd`` serves one file from memory, ``curl`` fetches it."""

from __future__ import annotations

import shlex
from typing import Literal

from mptcplab.steps import Call
from mptcplab.workload.context import WorkloadContext
from mptcplab.workload.download import Download, folder


class Http(Download):
    """Downloads by HTTP: ``lighttpd`` and ``curl``, with one connection per file."""

    scheme = "http"
    can_be_forwarded = True

    kind: Literal["http"]

    def _serve(self, name: str, context: WorkloadContext) -> tuple[str, tuple[str | Call, ...]]:
        place = folder(name)
        is_v6 = ":" in context.address
        settings = (
            f'server.document-root = "{place}"',
            f"server.port = {context.port}",
            # All addresses: subflows may arrive at any of them.
            'server.bind = "[::]"' if is_v6 else 'server.bind = "0.0.0.0"',
            f"server.max-connections = {max(256, 2 * self.connections)}",
        )
        run = self._with_algorithms(Call(("lighttpd", "-D", "-f", f"{place}.conf")), context.server_protocol)
        write = f"printf '%s\\n' {shlex.join(settings)} > {place}.conf"
        return f"{write} && exec {run}", (run,)
