# SPDX-License-Identifier: MIT
"""Connections that change their minds: both ends send and read at random, and set another congestion control or
scheduler in the middle; they end by a close, a half close, or a reset.
"""

from __future__ import annotations

import random
import select
import socket
import struct
import threading
import time
from collections import Counter

from tests.smp.guest.choices import CONGESTION_CONTROLS, PATHS, SCHEDULERS, TALK_PORT, address

IPPROTO_MPTCP = 262
_SOL_MPTCP, _MPTCP_INFO, _MPTCP_SCHEDULER = 284, 1, 43
_LONGEST_S = 8.0
#: Between two actions on a socket, on average.
_GAP_S = 0.05
_RESET = struct.pack("ii", 1, 0)


def _act(connection: socket.socket, chance: random.Random, done: Counter[str]) -> None:
    """Do something to a connection other than to send and to read."""
    action = chance.choice(("control", "control", "scheduler", "scheduler", "info"))
    done[f"socket: {action}"] += 1
    if action == "control":
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, chance.choice(CONGESTION_CONTROLS).encode())
    elif action == "scheduler":
        connection.setsockopt(_SOL_MPTCP, _MPTCP_SCHEDULER, chance.choice(SCHEDULERS).encode())
    else:
        connection.getsockopt(_SOL_MPTCP, _MPTCP_INFO, 256)
        connection.getsockopt(_SOL_MPTCP, _MPTCP_SCHEDULER, 16)


def converse(connection: socket.socket, chance: random.Random, done: Counter[str]) -> None:
    """Send, read and act for a few seconds, then end the connection in one of several ways."""
    connection.setblocking(False)
    data, now = chance.randbytes(60_000), time.monotonic()
    ends_at, acts_at = now + chance.uniform(0.2, _LONGEST_S), now
    writes = chance.random() < 0.7
    while (now := time.monotonic()) < ends_at:
        if now >= acts_at:
            _act(connection, chance, done)
            acts_at = now + chance.expovariate(1 / _GAP_S)
        readable, writable, _ = select.select([connection], [connection] if writes else [], [], max(0.0, acts_at - now))
        if readable and not connection.recv(65536):
            break
        if writable:
            connection.send(data[: chance.randrange(1, len(data))])
    end = chance.choice(("close", "half", "reset"))
    done[f"socket: {end}"] += 1
    if end == "half":
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(1.0)
        while connection.recv(65536):
            pass
    elif end == "reset":
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)


def _safely(connection: socket.socket, chance: random.Random, done: Counter[str]) -> None:
    try:
        with connection:
            converse(connection, chance, done)
    except OSError as error:
        done[f"socket: {type(error).__name__}"] += 1


def call(seed: int, number: int, until: float) -> dict[str, int]:
    """Make one connection after the other from the client. Return how often each thing was done."""
    chance, done = random.Random(f"{seed} talk {number}"), Counter[str]()
    while time.monotonic() < until:
        six = chance.random() < 0.3
        connection = socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP)
        connection.settimeout(3.0)
        try:
            if chance.random() < 0.3:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, chance.choice((10_000, 50_000, 200_000)))
            connection.connect((address("server", chance.choice(PATHS), six=six), TALK_PORT))
        except OSError:
            done["socket: not connected"] += 1
            connection.close()
            time.sleep(0.05)
            continue
        done["connections: talk"] += 1
        _safely(connection, chance, done)
    return dict(done)


def answer(seed: int) -> None:
    """Serve connections for ever, each in a thread, and end the listener now and then to start it again."""
    chance, done, number = random.Random(f"{seed} answer"), Counter[str](), 0
    while True:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM, IPPROTO_MPTCP) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("::", TALK_PORT))
            listener.listen()
            for _ in range(chance.randrange(5, 50)):
                connection, _ = listener.accept()
                number += 1
                decisions = random.Random(f"{seed} answer {number}")
                threading.Thread(target=_safely, args=(connection, decisions, done), daemon=True).start()
