# SPDX-License-Identifier: MIT
"""A speed test as web pages do it: many TCP connections send at once for a few seconds. Server and client in one file.

Usage: speedtest.py serve PORT, or: speedtest.py SOURCE SERVER PORT CONNECTIONS SECONDS
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct
import sys
import time

_BLOCK = bytes(1 << 16)


def serve(port: int) -> None:
    """Accept connections and discard what they bring, for ever."""
    waiter = selectors.DefaultSelector()
    listener = socket.create_server(("0.0.0.0", port), backlog=512)
    listener.setblocking(False)
    waiter.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in waiter.select():
            if key.fileobj is listener:
                connection, _ = listener.accept()
                connection.setblocking(False)
                waiter.register(connection, selectors.EVENT_READ)
                continue
            assert isinstance(key.fileobj, socket.socket)
            try:
                received = key.fileobj.recv(1 << 20)
            except OSError:
                received = b""
            if not received:
                waiter.unregister(key.fileobj)
                key.fileobj.close()


def send(source: str, server: str, port: int, connections: int, seconds: float) -> None:
    """Send over many connections from one address, and reset them at the end."""
    waiter = selectors.DefaultSelector()
    sockets = []
    for _ in range(connections):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.bind((source, 0))
        connection.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            connection.connect((server, port))
        waiter.register(connection, selectors.EVENT_WRITE)
        sockets.append(connection)
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        for key, _ in waiter.select(left):
            assert isinstance(key.fileobj, socket.socket)
            with contextlib.suppress(BlockingIOError):
                key.fileobj.send(_BLOCK)
    for connection in sockets:
        connection.close()


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(int(sys.argv[2]))
    send(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))
