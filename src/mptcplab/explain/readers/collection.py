# SPDX-License-Identifier: MIT
"""Files, folders and archives from strangers: what they contain is read within limits, and nothing of it is run.

An archive is never unpacked to its own paths: texts are read in memory, captures are copied to files with names of
ours. Links, devices and names that lead out of the archive are left out, and named.
"""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BufferedIOBase
from pathlib import Path, PurePosixPath
from typing import Literal, Self

from mptcplab.errors import InputError, reason

MAX_TEXT_BYTES = 16 << 20
MAX_ARCHIVE_BYTES = 512 << 20
MAX_FILES = 1000
#: Of a header with a long name or attributes, which tarfile reads into memory whatever its size. Names have 4096 bytes.
_MAX_HEADER_BYTES = 64 << 10
_HEAD_BYTES = 512
_MAX_NAME = 80
_TAKE_OUT = "take out the files that matter"
_GZIP = b"\x1f\x8b"
#: pcap in both byte orders, with microseconds and with nanoseconds; and pcapng.
_CAPTURES = (
    b"\xd4\xc3\xb2\xa1",
    b"\xa1\xb2\xc3\xd4",
    b"\x4d\x3c\xb2\xa1",
    b"\xa1\xb2\x3c\x4d",
    b"\x0a\x0d\x0d\x0a",
)
#: Types of headers whose content tarfile reads at once: long names, and attributes.
_EXTENSIONS = frozenset(
    (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE)
)
_TAR_MARK = slice(257, 262)
#: How a folder of a run, and a folder of results, are recognised; and folders of a run.
RUN_MARK, RESULTS_MARK, COUNTERS, CAPTURES = "manifest.json", "runs", "counters", "captures"

Kind = Literal["text", "capture", "archive", "other"]


@dataclass
class Collection:
    """The content of one argument of the command.

    ``texts`` are by the names that are shown; ``captures`` are files for tshark. ``is_host`` is True if it describes
    one host: a folder or archive that our script made. ``skipped`` says what was left out, and why.
    """

    name: str
    texts: dict[str, str] = field(default_factory=dict)
    captures: list[Path] = field(default_factory=list)
    is_host: bool = False
    skipped: list[str] = field(default_factory=list)

    def add_text(self, name: str, text: str) -> None:
        """Add a text under its name. Different files can have the same shown name, which then gets a number."""
        shown, number = name, 1
        while shown in self.texts:
            number += 1
            shown = f"{name} ({number})"
        self.texts[shown] = text

    def merge(self, part: Collection) -> None:
        """Add what an archive in a folder holds."""
        for name, text in part.texts.items():
            self.add_text(name, text)
        self.captures += part.captures
        self.skipped += part.skipped
        self.is_host |= part.is_host


@dataclass
class _Budget:
    """The bytes that the files of one argument may still have together."""

    name: str
    left: int = field(default_factory=lambda: MAX_ARCHIVE_BYTES)

    def spend(self, size: int) -> None:
        """Count bytes. :raises InputError: if they are too many."""
        self.left -= max(size, 0)
        if self.left < 0:
            raise InputError(f"{self.name} holds more than {MAX_ARCHIVE_BYTES >> 20} MiB", hint=_TAKE_OUT)


class _Header(tarfile.TarInfo):
    """A member's header, which must not announce that what belongs to the header itself is large."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Return the header in ``buf``. :raises InputError: if a name or attributes are too long."""
        header = super().frombuf(buf, encoding, errors)
        if header.type in _EXTENSIONS and header.size > _MAX_HEADER_BYTES:
            message = f"an archive has a name or attributes of more than {_MAX_HEADER_BYTES >> 10} KiB"
            raise InputError(message, hint=_TAKE_OUT)
        return header


def open_collection(path: Path, scratch: Path) -> Collection:
    """Read a file, folder or archive. Captures of archives are copied into the folder ``scratch``.

    :raises InputError: if it cannot be read, is larger than the limits, or is a broken archive.
    """
    name = printable(path.name or str(path))
    try:
        if path.is_dir():
            return _read_folder(path, name, scratch)
        if not path.is_file():
            raise InputError(f"'{printable(str(path))}' does not exist", hint="name a file or folder that exists")
        return _read_file(path, name, scratch)
    except OSError as error:
        raise InputError(f"{printable(str(path))}: {reason(error)}", hint="name a file that can be read") from error


def printable(name: str) -> str:
    """Return a name from an archive or file system in a form that fits into one line."""
    shown = "".join(character if character.isprintable() else "?" for character in name)
    return shown if len(shown) <= _MAX_NAME else f"...{shown[3 - _MAX_NAME :]}"


def kind_of(head: bytes) -> Kind:
    """Return what a file is by its first bytes, uncompressed."""
    if head.startswith(_CAPTURES):
        return "capture"
    if head[_TAR_MARK] == b"ustar":
        return "archive"
    return "other" if b"\0" in head else "text"


def _read_file(path: Path, name: str, scratch: Path) -> Collection:
    head = _head(path)
    kind = kind_of(head)
    if kind == "capture":
        return Collection(name, captures=[path])
    if kind == "archive":
        return _read_archive(path, name, scratch, _Budget(name))
    if kind == "other":
        hint = "name texts, captures (pcap, pcapng), or what the script of `mptcplab collect` wrote"
        raise InputError(f"{printable(str(path))} is neither a text nor a capture", hint=hint)
    return Collection(name, texts={name: _text(_open(path), name)})


def _open(path: Path) -> BufferedIOBase:
    with path.open("rb") as file:
        is_compressed = file.read(2) == _GZIP
    return gzip.open(path) if is_compressed else path.open("rb")


def _head(path: Path) -> bytes:
    try:
        with _open(path) as file:
            return file.read(_HEAD_BYTES)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _broken_error(path.name, "file") from error


def _broken_error(name: str, noun: str) -> InputError:
    return InputError(f"{printable(name)} is a broken {noun}", hint="copy it again; it may be incomplete")


def _text(file: BufferedIOBase, name: str) -> str:
    """Return the text in an open file. :raises InputError: if it is too long."""
    try:
        with file:
            content = file.read(MAX_TEXT_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _broken_error(name, "file") from error
    if len(content) > MAX_TEXT_BYTES:
        hint = "cut it to the part in question"
        raise InputError(f"{name} is a text of more than {MAX_TEXT_BYTES >> 20} MiB", hint=hint)
    return content.decode(errors="replace")


def _read_folder(folder: Path, name: str, scratch: Path) -> Collection:
    collection = Collection(name, is_host=_is_ours(folder / "index.txt"))
    budget = _Budget(name)
    for number, path in enumerate(_files(folder)):
        if number >= MAX_FILES:
            hint = "name the files that matter"
            raise InputError(f"{printable(str(folder))} has more than {MAX_FILES} files", hint=hint)
        shown = printable(f"{name}/{path.relative_to(folder)}")
        kind = kind_of(_head(path))
        if kind == "capture":
            collection.captures.append(path)
        elif kind == "text":
            text = _text(_open(path), shown)
            budget.spend(len(text))
            collection.add_text(shown, text)
        elif kind == "archive":
            collection.merge(_read_archive(path, shown, scratch, budget))
        else:
            collection.skipped.append(f"{shown}: neither a text nor a capture")
    return collection


def _files(folder: Path) -> Iterator[Path]:
    """Yield the regular files of a folder, without links, which may lead anywhere."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield path


def _is_ours(index: Path) -> bool:
    try:
        with index.open("rb") as file:
            return file.read(17) == b"mptcplab collect "
    except OSError:
        return False


def _read_archive(path: Path, name: str, scratch: Path, budget: _Budget) -> Collection:
    """Read a tar archive, compressed or not."""
    shown = name.removesuffix(".gz").removesuffix(".tgz").removesuffix(".tar")
    collection = Collection(shown)
    names: set[str] = set()
    try:
        with _open(path) as stream, tarfile.open(fileobj=stream, mode="r|", tarinfo=_Header) as archive:
            for number, member in enumerate(archive):
                if number >= MAX_FILES:
                    raise InputError(f"{name} has more than {MAX_FILES} members", hint=_TAKE_OUT)
                budget.spend(max(member.size, 0) + _HEAD_BYTES)
                if member.name in names:
                    collection.skipped.append(f"{printable(member.name)}: a second time in the archive")
                    continue
                names.add(member.name)
                _read_member(archive, member, collection, scratch)
    # tarfile calls itself for each of the headers that one member can have.
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, ValueError, RecursionError) as error:
        raise _broken_error(name, "archive") from error
    return collection


def _read_member(archive: tarfile.TarFile, member: tarfile.TarInfo, collection: Collection, scratch: Path) -> None:
    path = PurePosixPath(member.name)
    shown = printable(member.name)
    if member.isdir():
        return
    if not member.isreg() or path.is_absolute() or ".." in path.parts:
        collection.skipped.append(f"{shown}: not a plain file within the archive")
        return
    file = archive.extractfile(member)
    assert file is not None, "a regular file has content"
    head = file.read(_HEAD_BYTES)
    kind = kind_of(head)
    if kind == "capture":
        copy = scratch / f"capture-{len(list(scratch.iterdir()))}.pcap"
        with copy.open("wb") as target:
            target.write(head)
            while block := file.read(1 << 20):
                target.write(block)
        collection.captures.append(copy)
    elif kind == "text":
        if member.size > MAX_TEXT_BYTES:
            collection.skipped.append(f"{shown}: a text of more than {MAX_TEXT_BYTES >> 20} MiB")
            return
        collection.add_text(shown, (head + file.read()).decode(errors="replace"))
        collection.is_host |= path.name == "index.txt" and head.startswith(b"mptcplab collect ")
    elif kind == "archive":
        collection.skipped.append(f"{shown}: an archive in an archive")
    else:
        collection.skipped.append(f"{shown}: neither a text nor a capture")
