# SPDX-License-Identifier: MIT
"""The server: bound to this machine's own address, and to nothing else."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from mptcplab.errors import InputError, reason
from mptcplab.serve.app import make_app
from mptcplab.serve.folders import Folders
from mptcplab.serve.guard import Guard
from mptcplab.serve.runner import Runner

ADDRESS = "127.0.0.1"


class _Handler(WSGIRequestHandler):
    """Answers without a version, and without a line on the terminal for each request: its address has the token."""

    def version_string(self) -> str:
        """Return what we say of ourselves."""
        return "mptcplab"

    def log(self, type: str, message: str, *args: object) -> None:
        """Write nothing but errors."""
        if type == "error":
            logging.getLogger("mptcplab.serve").error(message, *args)


@dataclass(frozen=True)
class Live:
    """A server that listens. ``run`` answers until it is interrupted, or another thread calls ``stop``."""

    url: str
    run: Callable[[], None]
    stop: Callable[[], None]


@contextmanager
def listen(folders: Folders, port: int) -> Iterator[Live]:
    """Listen at ``port``, or at a free one if it is 0. At the end, a running experiment is ended as well.

    :raises InputError: if the port cannot be used.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((ADDRESS, port))
            listening.listen()
        except OSError as error:
            hint = "name another one with --port, or 0 for any that is free"
            raise InputError(f"port {port} cannot be used: {reason(error)}", hint=hint) from error
        guard, runner = Guard(int(listening.getsockname()[1])), Runner()
        server: BaseWSGIServer = make_server(
            ADDRESS,
            guard.port,
            make_app(guard, folders, runner),
            threaded=True,
            request_handler=_Handler,
            fd=listening.fileno(),
        )
        # A page that waits for events must not delay the end.
        server.daemon_threads = True  # type: ignore[attr-defined]
        server.block_on_close = False  # type: ignore[attr-defined]
        try:
            yield Live(guard.url, server.serve_forever, server.shutdown)
        finally:
            runner.close()
            server.server_close()
