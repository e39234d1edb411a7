# SPDX-License-Identifier: MIT
"""The programs that can be calibrated: their command lines, and the traffic that they carry meanwhile.

A program has sides, such as the entry and the exit of a proxy. Each side is a process whose CPU time is measured.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mptcplab.gateway import go_shadowsocks2
from mptcplab.workload.context import FLOW

_HOST = "127.0.0.1"
SERVER_PORT = 5301
_ENTRY_PORT = 1080
_EXIT_PORT = 8388
_PASSWORD = "mptcplab"
#: Transfers beside each other, in both directions: encryption and decryption may cost different amounts.
_BULK = (1, 4)
#: Requests beside each other, and bytes of each response: from many small calls to few large ones. There are enough at
#: once that the program does not sleep between them: a program that limits its node does not either.
_REQUESTS = ((16, 100), (16, 1000), (16, 4000), (16, 16000))
#: Bytes of a message, and ns from one to the next: more than a program can carry.
_MESSAGES = ((100, 200), (1000, 1000), (8000, 8000))


@dataclass(frozen=True)
class ProgramSide:
    """One measured program. It listens on ``port`` when it is ready; ``ends``: it serves one connection and exits."""

    name: str
    argv: tuple[str, ...]
    port: int
    ends: bool = False


@dataclass(frozen=True)
class Load:
    """A client that moves payload, and prints or writes how much; ``side`` is its name if it is measured itself."""

    name: str
    argv: tuple[str, ...]
    payload: Callable[[str], int]
    side: str | None = None


@dataclass(frozen=True)
class ProgramChain:
    """Programs started in this order, ``helpers`` (not measured) and ``sides``, and the loads, one after another."""

    sides: tuple[ProgramSide, ...]
    loads: tuple[Load, ...]
    helpers: tuple[ProgramSide, ...] = ()


@dataclass(frozen=True)
class CalibratedProgram:
    """A program of the catalogue. ``chain`` returns its programs and loads for a cipher and a number of seconds.

    ``ciphers`` is empty for a program without any; ``uses`` names its executables.
    """

    chain: Callable[[str, float], ProgramChain]
    uses: tuple[str, ...]
    ciphers: tuple[str, ...] = ()


def flow_payload(output: str) -> int:
    """Return the payload that a client of ``flow`` has moved: the bytes of all its connections."""
    events = (json.loads(line) for line in output.splitlines() if '"event":"end"' in line.replace(" ", ""))
    return sum(int(event["bytes"]) for event in events)


def iperf3_payload(output: str) -> int:
    """Return the payload that arrived at the server of ``iperf3 -J``."""
    return int(json.loads(output)["end"]["sum_received"]["bytes"])


def flow_loads(port: int, seconds: float, *, side: str | None = None) -> tuple[Load, ...]:
    """Return clients of ``flow`` at ``port``: bulk transfers, and requests with responses of many sizes."""
    bulk = [
        _flow_load(port, seconds, f"{name}, {count} at once", count, *options, side=side)
        for name, options in (("upload", ()), ("download", ("--download",)))
        for count in _BULK
    ]
    asks = [
        _flow_load(port, seconds, f"responses of {size} B, {count} at once", count, *_ask(size), side=side)
        for count, size in _REQUESTS
    ]
    return (*bulk, *asks)


def _single_connection_loads(port: int, seconds: float) -> tuple[Load, ...]:
    """Return loads of one connection, for programs that serve only one: bulk, and messages at fixed times."""
    messages = [
        _flow_load(port, seconds, f"messages of {size} B", 1, "--message-bytes", str(size), "--message-ns", str(every))
        for size, every in _MESSAGES
    ]
    bulk = (_flow_load(port, seconds, "upload", 1), _flow_load(port, seconds, "download", 1, "--download"))
    return (*bulk, *messages)


def _ask(size: int) -> tuple[str, ...]:
    return ("--ask", "--response-bytes", str(size))


def _flow_load(port: int, seconds: float, name: str, count: int, *options: str, side: str | None = None) -> Load:
    to = ("--connect", _HOST, "--port", str(port), "--connections", str(count))
    argv = (FLOW, "client", *to, "--seconds", f"{seconds:g}", "--interval-ms", "0", *options)
    return Load(name, argv, flow_payload, side)


def flow_server() -> ProgramSide:
    """Return the server of ``flow``, at ``SERVER_PORT``."""
    return ProgramSide("server", (FLOW, "server", "--port", str(SERVER_PORT), "--interval-ms", "0"), SERVER_PORT)


def _flow(_cipher: str, seconds: float) -> ProgramChain:
    return ProgramChain(sides=(flow_server(),), loads=flow_loads(SERVER_PORT, seconds, side="client"))


def _iperf3(_cipher: str, seconds: float) -> ProgramChain:
    def load(length: int) -> Load:
        options = ("-p", str(SERVER_PORT), "-t", f"{max(1, round(seconds))}", "-l", str(length), "-J")
        return Load(f"writes of {length} B", ("iperf3", "-c", _HOST, *options), iperf3_payload, "client")

    server = ProgramSide("server", ("iperf3", "-s", "-p", str(SERVER_PORT)), SERVER_PORT)
    return ProgramChain(sides=(server,), loads=tuple(load(length) for length in (500, 2000, 8000, 32000, 131072)))


def _socat(_cipher: str, seconds: float) -> ProgramChain:
    listen = (f"TCP-LISTEN:{_ENTRY_PORT},reuseaddr", f"TCP:{_HOST}:{SERVER_PORT}")
    relay = ProgramSide("relay", ("socat", *listen), _ENTRY_PORT, ends=True)
    return ProgramChain(sides=(relay,), loads=_single_connection_loads(_ENTRY_PORT, seconds), helpers=(flow_server(),))


def shadowsocks_libev_sides(
    cipher: str, *, entry_host: str = _HOST, exit_host: str = _HOST, server_host: str = _HOST
) -> tuple[ProgramSide, ...]:
    """Return exit and entry of a pair that leads to ``SERVER_PORT`` of a server."""
    shared = ("-s", exit_host, "-p", str(_EXIT_PORT), "-k", _PASSWORD, "-m", cipher, "-t", "300")
    leads_to = ("-b", entry_host, "-l", str(_ENTRY_PORT), "-L", f"{server_host}:{SERVER_PORT}")
    return (
        ProgramSide("exit", ("ss-server", *shared), _EXIT_PORT),
        ProgramSide("entry", ("ss-tunnel", *shared, *leads_to), _ENTRY_PORT),
    )


def _shadowsocks_libev(cipher: str, seconds: float) -> ProgramChain:
    return ProgramChain(
        sides=shadowsocks_libev_sides(cipher),
        loads=flow_loads(_ENTRY_PORT, seconds),
        helpers=(flow_server(),),
    )


def _go_shadowsocks2(executable: str) -> CalibratedProgram:
    """Return one release of go-shadowsocks2, built by ``make gateways``."""

    def chain(cipher: str, seconds: float) -> ProgramChain:
        user = f"ss://{go_shadowsocks2.CIPHERS[cipher]}:{_PASSWORD}@"
        leads_to = f"{_HOST}:{_ENTRY_PORT}={_HOST}:{SERVER_PORT}"
        sides = (
            ProgramSide("exit", (executable, "-s", f"{user}{_HOST}:{_EXIT_PORT}"), _EXIT_PORT),
            ProgramSide("entry", (executable, "-c", f"{user}{_HOST}:{_EXIT_PORT}", "-tcptun", leads_to), _ENTRY_PORT),
        )
        return ProgramChain(sides=sides, loads=flow_loads(_ENTRY_PORT, seconds), helpers=(flow_server(),))

    return CalibratedProgram(chain, (executable, FLOW), ciphers=tuple(go_shadowsocks2.CIPHERS))


#: All programs by the names that users type.
PROGRAMS: Mapping[str, CalibratedProgram] = {
    "flow": CalibratedProgram(_flow, (FLOW,)),
    "iperf3": CalibratedProgram(_iperf3, ("iperf3",)),
    "socat": CalibratedProgram(_socat, ("socat", FLOW)),
    "shadowsocks-libev": CalibratedProgram(
        _shadowsocks_libev,
        ("ss-server", "ss-tunnel", FLOW),
        ciphers=("aes-128-gcm", "aes-256-gcm", "chacha20-ietf-poly1305"),
    ),
    **{executable: _go_shadowsocks2(executable) for executable in go_shadowsocks2.PROGRAMS.values()},
}
