# SPDX-License-Identifier: MIT
"""Read the packets of capture files: tshark dissects them, and they are merged by time."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Iterable, Iterator, Sequence
from operator import attrgetter
from pathlib import Path

from mptcplab.capture.packet import FIELDS, LineReader, Packet
from mptcplab.errors import InputError, MissingError

_MAX_FILES = 64
#: Raw sequence numbers, and no analysis for which tshark keeps state per packet: its memory stays constant however
#: long a capture is.
_PREFERENCES = (
    "tcp.analyze_sequence_numbers:FALSE",
    "tcp.relative_sequence_numbers:FALSE",
    "tcp.desegment_tcp_streams:FALSE",
    "tcp.calculate_timestamps:FALSE",
    "tcp.track_bytes_in_flight:FALSE",
    "mptcp.analyze_mptcp:FALSE",
)
#: ICMP errors quote packets, and tshark would report the quoted headers as packets.
_IGNORED = ("icmp", "icmpv6")


def read_packets(files: Sequence[Path]) -> Iterator[Packet]:
    """Yield the TCP packets of all ``files`` in the order of their times; each has the number of its file.

    :raises InputError: if a file is not a capture, is truncated, or has no packets.
    :raises MissingError: if tshark is not installed.
    """
    if len(files) > _MAX_FILES:
        raise InputError(f"{len(files)} files are too many", hint=f"name at most {_MAX_FILES}")
    for file in files:
        _check(file)
    program = shutil.which("tshark", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/bin")
    if program is None:
        raise MissingError("this machine has no 'tshark'", hint="sudo apt-get install tshark")
    with contextlib.ExitStack() as stack:
        settings = stack.enter_context(tempfile.TemporaryDirectory(prefix="mptcplab-"))
        streams = [
            stack.enter_context(contextlib.closing(_dissect(program, file, number, settings)))
            for number, file in enumerate(files)
        ]
        yield from streams[0] if len(streams) == 1 else heapq.merge(*streams, key=attrgetter("time_ns"))


def _check(file: Path) -> None:
    hint = "name a capture file: pcap or pcapng, as tcpdump, dumpcap and Wireshark write them"
    try:
        if file.is_dir():
            raise InputError(f"{file}: is a directory", hint=hint)
        with file.open("rb"):
            pass
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "is not a file name"
        raise InputError(f"{str(file)!r}: {reason.lower()}", hint=hint) from error


def _dissect(program: str, file: Path, number: int, settings: str) -> Generator[Packet]:
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            _command(program, file),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            encoding="utf-8",
            errors="replace",
            # The user's own preferences and filters must not change what is read.
            env={**os.environ, "LC_ALL": "C.UTF-8", "HOME": settings, "WIRESHARK_CONFIG_DIR": settings},
        )
        try:
            yield from _packets(process, file, number)
            status = process.wait()
            errors.seek(0)
            _check_end(status, file, errors.read().decode(errors="replace"))
        finally:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


def _command(program: str, file: Path) -> list[str]:
    command = [program, "-n", "-r", str(file.absolute()), "-d", "tcp.port==0-65535,data"]
    for protocol in _IGNORED:
        command += ["--disable-protocol", protocol]
    for preference in _PREFERENCES:
        command += ["-o", preference]
    command += ["-T", "fields", "-E", "occurrence=l"]
    for field in FIELDS:
        command += ["-e", field]
    return command


def _packets(process: subprocess.Popen[str], file: Path, number: int) -> Iterator[Packet]:
    assert process.stdout is not None
    first = next(process.stdout, None)
    if first is not None:
        yield from packets_of_lines(itertools.chain([first], process.stdout), file, number)
    elif process.wait() == 0:
        raise InputError(f"{file}: has no packets", hint="capture again, for longer")


def packets_of_lines(lines: Iterable[str], file: Path, number: int) -> Iterator[Packet]:
    """Yield the packets in tshark's output about ``file``. :raises InputError: if a line is not valid."""
    reader = LineReader(number)
    for count, line in enumerate(lines, start=1):
        try:
            packet = reader.packet(line)
        except (ValueError, OverflowError) as error:
            hint = f"see what tshark prints: tshark -r {file}"
            raise InputError(f"{file}: cannot parse tshark's output for packet {count}", hint=hint) from error
        if packet is not None:
            yield packet


def _check_end(status: int, file: Path, stderr: str) -> None:
    """Check that tshark read to the end. :raises InputError: with its message if it did not."""
    if status == 0:
        return
    if "cut short" in stderr:
        hint = f"keep the complete packets: editcap {file} whole.pcap"
        raise InputError(f"{file}: ends in the middle of a packet", hint=hint)
    if "isn't a capture file" in stderr or "format TShark understands" in stderr:
        hint = "name a pcap or pcapng file, as tcpdump and dumpcap write them"
        raise InputError(f"{file}: is not a capture file", hint=hint)
    lines = [line.strip() for line in stderr.splitlines() if line.strip() and "Running as user" not in line]
    reason = lines[-1].removeprefix("tshark: ").rstrip(".") if lines else f"tshark exited with status {status}"
    raise InputError(f"{file}: {reason}", hint=f"see what tshark prints: tshark -r {file}")
