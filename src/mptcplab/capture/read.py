# SPDX-License-Identifier: MIT
"""The packets of capture files, dissected by tshark and merged by time."""

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

_MOST_FILES = 64
#: Sequence numbers as they are, and nothing that tshark would remember of every packet: so its memory stays the same
#: however long a capture is.
_PREFERENCES = (
    "tcp.analyze_sequence_numbers:FALSE",
    "tcp.relative_sequence_numbers:FALSE",
    "tcp.desegment_tcp_streams:FALSE",
    "tcp.calculate_timestamps:FALSE",
    "tcp.track_bytes_in_flight:FALSE",
    "mptcp.analyze_mptcp:FALSE",
)
#: Errors quote packets, whose headers would look like packets of their own.
_IGNORED = ("icmp", "icmpv6")


def read_packets(files: Sequence[Path]) -> Iterator[Packet]:
    """The TCP packets of all ``files`` in the order of their times, with the number of the file in each.

    :raises InputError: for what is no capture, is cut short, or has no packets.
    :raises MissingError: without tshark.
    """
    if len(files) > _MOST_FILES:
        raise InputError(f"{len(files)} files are too many at once", hint=f"give at most {_MOST_FILES}")
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
    with tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(
            _command(program, file),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
            encoding="utf-8",
            errors="replace",
            # A user's own preferences and filters shall not change what is read.
            env={**os.environ, "LC_ALL": "C.UTF-8", "HOME": settings, "WIRESHARK_CONFIG_DIR": settings},
        )
        try:
            yield from _packets(process, file, number)
            status = process.wait()
            complaints.seek(0)
            _check_end(status, file, complaints.read().decode(errors="replace"))
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
        raise InputError(f"{file}: has no packets", hint="capture again, for longer: nothing passed")


def packets_of_lines(lines: Iterable[str], file: Path, number: int) -> Iterator[Packet]:
    """The packets in what tshark wrote about ``file``. :raises InputError: for a line that it does not write."""
    reader = LineReader(number)
    for count, line in enumerate(lines, start=1):
        try:
            packet = reader.packet(line)
        except (ValueError, OverflowError) as error:
            hint = f"try it: tshark -r {file}"
            raise InputError(
                f"{file}: tshark reads packet {count} in a way that is not understood", hint=hint
            ) from error
        if packet is not None:
            yield packet


def _check_end(status: int, file: Path, said: str) -> None:
    """:raises InputError: with what tshark said, when it did not read to the end."""
    if status == 0:
        return
    if "cut short" in said:
        hint = f"keep what is whole: editcap {file} whole.pcap"
        raise InputError(f"{file}: ends in the middle of a packet", hint=hint)
    if "isn't a capture file" in said or "format TShark understands" in said:
        raise InputError(
            f"{file}: is not a capture file", hint="pcap and pcapng are, as tcpdump and dumpcap write them"
        )
    lines = [line.strip() for line in said.splitlines() if line.strip() and "Running as user" not in line]
    reason = lines[-1].removeprefix("tshark: ").rstrip(".") if lines else f"tshark ended with status {status}"
    raise InputError(f"{file}: {reason}", hint=f"try it: tshark -r {file}")
