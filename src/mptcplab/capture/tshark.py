# SPDX-License-Identifier: MIT
"""Start tshark on a capture file and yield the lines that it prints, one per packet."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from mptcplab.cache import cache_root
from mptcplab.errors import InputError, MissingError, reason
from mptcplab.files import write_text

_MAX_FILES = 64
#: Raw sequence numbers, and no state per packet that nobody here reads. Summaries in the tree only take time.
_PREFERENCES = (
    "tcp.relative_sequence_numbers:FALSE",
    "tcp.desegment_tcp_streams:FALSE",
    "tcp.calculate_timestamps:FALSE",
    "tcp.track_bytes_in_flight:FALSE",
    "tcp.summary_in_tree:FALSE",
    "ip.summary_in_tree:FALSE",
    "mptcp.analyze_mptcp:FALSE",
)
#: ICMP errors quote packets, and tshark would report the quoted headers as packets.
_IGNORED = ("icmp", "icmpv6")
_T = TypeVar("_T")
_VERSION = re.compile(r"\d+\.\d+\.\d+")


class CutShortError(InputError):
    """A file ends in the middle of a packet. All packets before it have been read."""


class EmptyError(InputError):
    """A file has no packets."""


@dataclass(frozen=True)
class Query:
    """The fields that tshark prints about every packet, and the preferences and options with which it dissects.

    A field that occurs several times in a packet (tunnels) has the innermost value.
    """

    fields: tuple[str, ...]
    preferences: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


def tshark_path() -> str:
    """Return the path of tshark. :raises MissingError: if it is not installed."""
    program = shutil.which("tshark", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/bin")
    if program is None:
        raise MissingError("this machine has no 'tshark'", subject="tshark", packages=("tshark",))
    return program


def tshark_version() -> str:
    """Return the version of tshark, which is kept in the cache: starting tshark takes as long as reading a small file.

    :raises MissingError: if it is not installed.
    """
    program = tshark_path()
    stat = os.stat(program)
    digest = hashlib.sha256(f"{program}\0{stat.st_size}\0{stat.st_mtime_ns}\0{stat.st_ino}".encode())
    kept = cache_root() / "tshark" / digest.hexdigest()[:24]
    with suppress(OSError):
        return kept.read_text()
    done = subprocess.run([program, "--version"], capture_output=True, text=True, errors="replace", check=False)
    match = _VERSION.search(done.stdout)
    if match is None:
        return "of unknown version"
    with suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_text(kept, match[0])
    return match[0]


def check_files(files: Sequence[Path]) -> None:
    """Check the number of files, that each can be opened, and that there is a tshark to read them.

    :raises InputError: if a file cannot be read. :raises MissingError: if tshark is not installed.
    """
    if len(files) > _MAX_FILES:
        raise InputError(f"{len(files)} files are too many", hint=f"name at most {_MAX_FILES}")
    for file in files:
        _check_file(file)
    tshark_path()


def _check_file(file: Path) -> None:
    hint = "name a capture file: pcap or pcapng, as tcpdump, dumpcap and Wireshark write them"
    try:
        if file.is_dir():
            raise InputError(f"{file}: is a directory", hint=_capture_hint(file) or hint)
        with file.open("rb"):
            pass
    except (OSError, ValueError) as error:
        why = reason(error) if isinstance(error, OSError) else "is not a file name"
        raise InputError(f"{str(file)!r}: {why}", hint=hint) from error


def _capture_hint(folder: Path) -> str | None:
    """Return a hint about captures in a results folder or in one of its runs."""
    # In a run, a results folder, and a folder of these: not in all of a home folder.
    places = (f"{above}captures/*.pcap" for above in ("", "runs/*/", "*/runs/*/", "*/*/runs/*/"))
    path = next((path for place in places for path in sorted(folder.glob(place))), None)
    if path is not None:
        return f"name captures in it, such as {path}"
    if (folder / "runs").is_dir() or (folder / "manifest.json").is_file():
        return 'nothing was captured here: add [record] with captures = [{ node = "client" }] to the scenario'
    return None


def lines_about(file: Path, query: Query) -> Generator[str]:
    """Yield a line per packet of ``file``, with the fields of ``query`` between tabs.

    :raises CutShortError: after the last whole packet, if the file ends in the middle of one.
    :raises EmptyError: if the file has no packets. :raises InputError: if it is not a capture.
    :raises MissingError: if tshark is not installed.
    """
    program = tshark_path()
    with tempfile.TemporaryDirectory(prefix="mptcplab-") as settings, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            _command(program, file, query),
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
            yield from _check_output(process, file)
            status = process.wait()
            errors.seek(0)
            _check_end(status, file, errors.read().decode(errors="replace"))
        finally:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


def _command(program: str, file: Path, query: Query) -> list[str]:
    command = [program, "-n", "-r", str(file.absolute()), "-d", "tcp.port==0-65535,data"]
    for protocol in _IGNORED:
        command += ["--disable-protocol", protocol]
    for preference in (*_PREFERENCES, *query.preferences):
        command += ["-o", preference]
    command += [*query.options, "-T", "fields", "-E", "occurrence=l"]
    for field in query.fields:
        command += ["-e", field]
    return command


def _check_output(process: subprocess.Popen[str], file: Path) -> Iterator[str]:
    assert process.stdout is not None
    first = next(process.stdout, None)
    if first is not None:
        yield from itertools.chain([first], process.stdout)
    elif process.wait() == 0:
        raise EmptyError(f"{file}: has no packets", hint="capture again, for longer")


def _check_end(status: int, file: Path, stderr: str) -> None:
    """Check that tshark read to the end. :raises InputError: with its message if it did not."""
    if status == 0:
        return
    if "cut short" in stderr:
        hint = f"keep the complete packets: editcap {file} whole.pcap"
        raise CutShortError(f"{file}: ends in the middle of a packet", hint=hint)
    if "isn't a capture file" in stderr or "format TShark understands" in stderr:
        hint = "name a pcap or pcapng file, as tcpdump and dumpcap write them"
        raise InputError(f"{file}: is not a capture file", hint=hint)
    lines = [line.strip() for line in stderr.splitlines() if line.strip() and "Running as user" not in line]
    reason = lines[-1].removeprefix("tshark: ").rstrip(".") if lines else f"tshark exited with status {status}"
    raise InputError(f"{file}: {reason}", hint=f"see what tshark prints: tshark -r {file}")


def parse_lines(lines: Iterable[str], file: Path, parse: Callable[[str], _T | None]) -> Iterator[_T]:
    """Yield what ``parse`` returns for each of tshark's lines about ``file``, without None.

    :raises InputError: if ``parse`` raises a ValueError or an OverflowError.
    """
    for count, line in enumerate(lines, start=1):
        try:
            item = parse(line)
        except (ValueError, OverflowError) as error:
            hint = f"see what tshark prints: tshark -r {file}"
            raise InputError(f"{file}: cannot parse tshark's output for packet {count}", hint=hint) from error
        if item is not None:
            yield item
