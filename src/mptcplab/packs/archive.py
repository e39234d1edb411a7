# SPDX-License-Identifier: MIT
"""The archive of a pack: ZIP, written with the same bytes for the same content, and read as the work of a stranger.

A reader never extracts an archive by its own names. It checks all names, kinds and sizes first, gets the content of
single members, and reads no more of a member than it has announced. A pack has regular files only, so folders, links
and devices are refused, like everything else that our writer does not write.
"""

from __future__ import annotations

import io
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import NoReturn

from mptcplab.errors import InputError
from mptcplab.scenario.document import escape_text

MAX_ARCHIVE_BYTES = 256 << 20
MAX_MEMBERS = 20_000
MAX_MEMBER_BYTES = 256 << 20
MAX_TOTAL_BYTES = 1 << 30
#: Text and samples shrink to a tenth or twentieth; a bomb to a thousandth.
MAX_RATIO = 200
#: Below this size of the content, its ratio is of no concern.
_SMALL_BYTES = 8 << 20
#: Of a name in a message.
_MAX_SHOWN_CHARS = 60
_MAX_NAME_CHARS, _MAX_PART_BYTES = 1000, 255
#: The signature of an entry in the archive's directory.
_ENTRY = b"PK\x01\x02"
_ENCRYPTED = 0x1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_UNIX = 3
#: The first instant that ZIP can express. No file's own time is recorded.
_TIME = (1980, 1, 1, 0, 0, 0)
_LEVEL = 9
#: What zipfile raises for archives that it cannot read.
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,
    EOFError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
)


def write_archive(members: Mapping[str, bytes]) -> bytes:
    """Return an archive with ``members``: the same bytes for the same content, whatever the files' order and times.

    :raises InputError: if a name is not allowed in a pack, or there is more than a reader accepts.
    """
    check_names(members)
    _check_sizes([len(content) for content in members.values()])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        for name in sorted(members):
            member = zipfile.ZipInfo(name, _TIME)
            member.compress_type, member.create_system = zipfile.ZIP_DEFLATED, _UNIX
            member.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(member, members[name])
    return buffer.getvalue()


class Archive:
    """An archive in memory, whose names, kinds and sizes are acceptable. :raises InputError: if they are not."""

    def __init__(self, data: bytes) -> None:
        if len(data) > MAX_ARCHIVE_BYTES:
            _refuse(f"is larger than {MAX_ARCHIVE_BYTES >> 20} MiB")
        # zipfile makes an object of each entry before it returns: millions of them would fill the memory.
        if data.count(_ENTRY) > MAX_MEMBERS:
            _refuse(f"has more than {MAX_MEMBERS} files")
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except _UNREADABLE as error:
            raise _damage_error() from error
        members = self._zip.infolist()
        for member in members:
            _check_kind(member)
        check_names([member.orig_filename for member in members])
        _check_sizes([member.file_size for member in members], len(data))
        self._members = {member.filename: member for member in members}

    @property
    def names(self) -> set[str]:
        """The names of all members."""
        return set(self._members)

    def read(self, name: str) -> bytes:
        """Return the content of one member, at most as much as its entry says.

        :raises InputError: if it is missing or damaged.
        """
        if name not in self._members:
            _refuse(f"lacks the file {quote_name(name)}")
        member = self._members[name]
        try:
            with self._zip.open(member) as opened:
                content = opened.read(member.file_size + 1)
        except _UNREADABLE as error:
            raise _damage_error() from error
        if len(content) != member.file_size:
            raise _damage_error()
        return content


def check_names(names: Iterable[str]) -> None:
    """Check that every name is a path inside of any folder, and that no two can be the same file anywhere.

    :raises InputError: naming the first that is not.
    """
    seen: set[str] = set()
    folders: set[str] = set()
    for name in names:
        if reason := _objection(name):
            _refuse(f"has the file {quote_name(name)}, {reason}")
        # The same file where case or the form of accents does not matter.
        key = unicodedata.normalize("NFC", name).casefold()
        if key in seen:
            _refuse(
                f"has the file {quote_name(name)} twice, or with other letters that some systems do not distinguish"
            )
        seen.add(key)
        folders.update(str(folder) for folder in PurePosixPath(key).parents)
    for name in sorted(seen & folders):
        _refuse(f"has {quote_name(name)} both as a file and as a folder")


def _objection(name: str) -> str:
    """Return what is wrong with a member's name, or nothing."""
    if not name or name.startswith("/") or "\\" in name or ":" in name:
        return "which is not a path below a folder"
    if not name.isprintable() or unicodedata.normalize("NFC", name) != name:
        return "whose name has characters that are not allowed"
    if len(name) > _MAX_NAME_CHARS:
        return "whose name is too long"
    parts = name.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return "which leads out of the folder or names a folder"
    try:
        lengths = [len(part.encode()) for part in parts]
    except UnicodeEncodeError:
        return "whose name has characters that are not allowed"
    if max(lengths) > _MAX_PART_BYTES or any(part[-1] in ". " for part in parts):
        return "whose name not every system accepts"
    return ""


def _check_kind(member: zipfile.ZipInfo) -> None:
    """Check that a member is a regular file that we can read."""
    kind = stat.S_IFMT(member.external_attr >> 16)
    if member.is_dir() or kind not in (0, stat.S_IFREG):
        _refuse(f"has {quote_name(member.filename)}, which is not a regular file")
    if member.flag_bits & _ENCRYPTED or member.compress_type not in _METHODS:
        _refuse(f"has {quote_name(member.filename)} encrypted or compressed by a method that packs do not use")


def _check_sizes(sizes: list[int], archive_bytes: int | None = None) -> None:
    """Check the number of members and their sizes, also against the size of the archive itself."""
    if len(sizes) > MAX_MEMBERS:
        _refuse(f"has more than {MAX_MEMBERS} files")
    if max(sizes, default=0) > MAX_MEMBER_BYTES:
        _refuse(f"has a file of more than {MAX_MEMBER_BYTES >> 20} MiB")
    total = sum(sizes)
    if total > MAX_TOTAL_BYTES:
        _refuse(f"has files of more than {MAX_TOTAL_BYTES >> 20} MiB together")
    if archive_bytes is not None and total > _SMALL_BYTES and total > MAX_RATIO * archive_bytes:
        _refuse(f"grows to more than {MAX_RATIO} times its size")


def quote_name(name: str) -> str:
    """Return a name for a message: strangers choose it."""
    return f"'{escape_text(name, longest=_MAX_SHOWN_CHARS)}'"


def _refuse(what: str) -> NoReturn:
    raise InputError(f"the pack {what}", hint="use a pack that `mptcplab pack` has made")


def _damage_error() -> InputError:
    return InputError("the pack is damaged, or no pack", hint="get it again, or make it with `mptcplab pack`")
