# SPDX-License-Identifier: MIT
"""Programs of the sessions: `talk.py serve PORT` reads a connection, `talk.py send ADDRESS PORT` fills one."""

from __future__ import annotations

import argparse
import contextlib
import socket
import struct
import time

_BLOCK, _SHORT = bytes(16384), bytes(1000)
#: SO_LINGER with a time of zero: close() aborts.
_ABORT = struct.pack("ii", 1, 0)
#: Python has no name for this option of include/uapi/linux/tcp.h.
_TCP_ULP = 31


def _open(family: int) -> socket.socket:
    """Return an MPTCP socket, or one of TCP where the host has no MPTCP, as most programs do."""
    try:
        return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_MPTCP)
    except OSError:
        return socket.socket(family, socket.SOCK_STREAM)


def _serve(args: argparse.Namespace) -> None:
    listener = _open(socket.AF_INET6)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if args.fast_open:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 1)
    listener.bind(("::", args.port))
    listener.listen()
    for _ in range(args.connections):
        connection, _ = listener.accept()
        if args.once:
            listener.close()
        with contextlib.suppress(ConnectionError):
            while connection.recv(len(_BLOCK)):
                pass


def _send(args: argparse.Namespace) -> None:
    connection = _open(socket.AF_INET6 if ":" in args.address else socket.AF_INET)
    if args.source is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        connection.bind(("", args.source))
    end = time.monotonic() + args.seconds
    with contextlib.suppress(OSError):
        if args.fast_open:
            connection.sendto(_SHORT, socket.MSG_FASTOPEN, (args.address, args.port))
        connection.settimeout(args.seconds)
        if not args.fast_open:
            connection.connect((args.address, args.port))
        if args.kernel_tls:
            with contextlib.suppress(OSError):
                connection.setsockopt(socket.IPPROTO_TCP, _TCP_ULP, b"tls")
        while time.monotonic() < end:
            connection.send(_BLOCK if args.every is None else bytes(args.block))
            time.sleep(args.every or 0)
    if args.abort:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _ABORT)
    connection.close()


def _main() -> None:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    serve = commands.add_parser("serve", help="accept connections, one after another, and read them")
    serve.add_argument("port", type=int)
    serve.add_argument("--connections", type=int, default=1)
    serve.add_argument("--once", action="store_true", help="stop listening after the first connection")
    serve.set_defaults(act=_serve)
    send = commands.add_parser("send", help="send as fast as possible")
    send.add_argument("address")
    send.add_argument("port", type=int)
    send.add_argument("--seconds", type=float, default=3600.0)
    send.add_argument("--source", type=int, metavar="PORT", help="port of this side")
    send.add_argument("--every", type=float, metavar="SECONDS", help="send a block now and then")
    send.add_argument("--block", type=int, metavar="BYTES", default=len(_SHORT), help="size of these blocks")
    send.add_argument("--abort", action="store_true", help="abort the connection at the end")
    send.add_argument("--kernel-tls", action="store_true", help="ask for kernel TLS, and do without if it is refused")
    send.set_defaults(act=_send)
    for command in (serve, send):
        command.add_argument("--fast-open", action="store_true", help="use TCP Fast Open")
    args = parser.parse_args()
    args.act(args)


if __name__ == "__main__":
    _main()
