# SPDX-License-Identifier: MIT
"""The parts of tools/sampler as a library, and their references: the codec of steering, and short Python."""

from __future__ import annotations

import ctypes
import json
import os
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mptcplab.guest.netlink import attributes
from mptcplab.steering import sockets

ROOT = Path(__file__).resolve().parents[4]
SOURCE = ROOT / "tools" / "sampler"
DONE, ERROR = 3, 2
#: As large as a packet of the kernel's can be.
_PACKET_BYTES = 32768


def compile_parts(folder: Path) -> ctypes.CDLL:
    """Return the library, made in a folder."""
    file = folder / "parts.so"
    parts = sorted(path for path in SOURCE.glob("*.c") if path.name not in ("main.c", "nodes.c"))
    words = ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-std=gnu11", "-D_GNU_SOURCE", "-shared", "-fPIC"]
    words += [f"-I{SOURCE}", "-o", str(file), str(Path(__file__).with_name("library.c"))]
    subprocess.run([*words, *map(str, parts)], check=True)
    made = ctypes.CDLL(str(file))
    made.test_tcp_pages.restype = ctypes.c_long
    return made


def message(kind: int, body: bytes) -> bytes:
    """Return one message, padded."""
    return struct.pack("=IHHII", 16 + len(body), kind, 0, 0, 0) + body + bytes(-len(body) % 4)


def dump(bodies: Sequence[bytes], room: int = _PACKET_BYTES) -> list[bytes]:
    """Return the packets of a dump, of up to ``room`` bytes each, and with the end in one of its own, as in Linux."""
    packets = [b""]
    for body in bodies:
        part = message(18, body)
        if len(packets[-1]) + len(part) > room:
            packets.append(b"")
        packets[-1] += part
    return [packet for packet in packets if packet] + [message(DONE, bytes(4))]


class Answers:
    """A kernel's end of a socket: it answers each request with the next of ``answers``, a list of packets."""

    def __init__(self, *answers: Sequence[bytes]) -> None:
        self._kernel, self._program = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.fd = self._program.fileno()
        self.requests: list[bytes] = []
        self._thread = threading.Thread(target=self._serve, args=(answers,))

    def _serve(self, answers: Sequence[Sequence[bytes]]) -> None:
        for packets in answers:
            self.requests.append(self._kernel.recv(_PACKET_BYTES))
            for packet in packets:
                self._kernel.send(packet)

    def __enter__(self) -> Answers:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._program.close()
        self._thread.join()
        self._kernel.close()


@dataclass(frozen=True)
class Parts:
    """The parts of the sampler, with types of Python. Files are written to ``folder``."""

    library: ctypes.CDLL
    folder: Path

    def sockets(self, fd: int, node: str, count: int = 1) -> str:
        """Return the rows of ``count`` samples."""
        self.library.test_sockets(fd, os.fsencode(self.folder), node.encode(), count)
        return self._write("sockets.jsonl")

    def queues(self, fd: int, places: Sequence[str], time_ns: int) -> str:
        """Return the rows of one sample."""
        words = (ctypes.c_char_p * len(places))(*(place.encode() for place in places))
        self.library.test_queues(fd, os.fsencode(self.folder), words, len(places), ctypes.c_int64(time_ns))
        return self._write("queues.jsonl")

    def watch(self, fd: int, schedulers: Sequence[str | None]) -> Any:
        """Return the sockets seen at as many checks as there are lists of ``schedulers``; None: no such list."""
        files = [-1 if text is None else os.memfd_create("schedulers") for text in schedulers]
        for file, text in zip(files, schedulers, strict=True):
            if text is not None:
                os.write(file, text.encode())
        numbers = (ctypes.c_int * len(files))(*files)
        self.library.test_watch(fd, numbers, len(files), os.fsencode(self.folder / "seen.json"))
        for file in files:
            if file >= 0:
                os.close(file)
        return json.loads(self._write("seen.json"))

    def instants(self, interval_ns: int, count: int) -> list[int]:
        """Return the first instants of samples."""
        instants = (ctypes.c_int64 * count)()
        self.library.test_instants(ctypes.c_int64(interval_ns), instants, count)
        return list(instants)

    def is_due(self, interval_ns: int, now_ns: int) -> bool:
        """Return whether the first sample is due at an instant."""
        return bool(self.library.test_due(ctypes.c_int64(interval_ns), ctypes.c_int64(now_ns)))

    def number(self, value: int) -> str:
        """Return a number as the sampler writes it."""
        text = ctypes.create_string_buffer(24)
        self.library.test_number(text, ctypes.c_uint64(value))
        return text.value.decode()

    def tcp_pages(self, sockstat: str) -> int:
        """Return TCP's memory in /proc/net/sockstat."""
        return int(self.library.test_tcp_pages(sockstat.encode()))

    def _write(self, name: str) -> str:
        """Return the text of a file, which is empty if it was not written."""
        file = self.folder / name
        text = file.read_text() if file.exists() else ""
        file.unlink(missing_ok=True)
        return text


def expected_rows(bodies: Sequence[bytes], node: str, count: int = 1) -> str:
    """Return the rows of ``count`` samples of the same sockets, by the codec of steering.

    The kernel dumps sockets of IPv4 before sockets of IPv6 there.
    """
    rows = [sockets._row(memoryview(body)) for body in sorted(bodies, key=lambda body: body[0])]
    rows.sort(key=lambda row: (row["local"], row["remote"]))
    lines = [{"time_ns": time_ns, "node": node, **row} for time_ns in range(count) for row in rows]
    return "".join(json.dumps(line) + "\n" for line in lines)


def expected_algorithms(samples: Sequence[Sequence[bytes]], schedulers: Sequence[str | None]) -> list[dict[str, Any]]:
    """Return all sockets with the algorithms that each used in ``samples``, in the order in which they were seen."""
    seen: dict[tuple[str, str], dict[str, Any]] = {}
    for bodies, text in zip(samples, schedulers, strict=True):
        words = (line.split() for line in (text or "").splitlines())
        names = {int(pair[0], 16): pair[1] for pair in words if len(pair) == 2}
        for row in (sockets._row(memoryview(body)) for body in bodies):
            known = {"local": row["local"], "remote": row["remote"], "congestion": [], "scheduler": []}
            noted = seen.setdefault((row["local"], row["remote"]), known)
            for key, name in (("congestion", row.get("congestion")), ("scheduler", names.get(row.get("token", -1)))):
                noted[key] += [name] if name and name not in noted[key] else []
    return [seen[ends] for ends in sorted(seen)]


def expected_queues(bodies: Sequence[bytes], places: Sequence[str], time_ns: int) -> str:
    """Return the rows of the queues in answers of ``tc``."""
    return "".join(_queue_lines(bodies, places, time_ns))


def _queue_lines(bodies: Sequence[bytes], places: Sequence[str], time_ns: int) -> Iterator[str]:
    for body, place in zip(bodies, places, strict=True):
        described = dict(attributes(memoryview(body)[20:]))
        packets, held, drops = struct.unpack_from("=III", dict(attributes(described[7]))[3])
        row = {"time_ns": time_ns, **json.loads(f"{{{place}}}"), "bytes": held, "packets": packets, "drops": drops}
        yield json.dumps(row) + "\n"
