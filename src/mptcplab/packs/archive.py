# SPDX-License-Identifier: MIT
"""The archive of a pack, with the same bytes for the same content, and its manifest."""

from __future__ import annotations

import hashlib
import io
import json
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Annotated, Any, NoReturn

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from mptcplab.errors import InputError
from mptcplab.fields import Whole
from mptcplab.files import format_json
from mptcplab.scenario.document import escape_text

# The archive of a pack: ZIP, written with the same bytes for the same content, and read as the work of a stranger.
#
# A reader never extracts an archive by its own names. It checks all names, kinds and sizes first, gets the content of
# single members, and reads no more of a member than it has announced. A pack has regular files only, so folders, links
# and devices are refused, like everything else that our writer does not write.

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
            # Newer versions of zipfile take the name of an extra field, which is not the name that is checked below.
            if "\0" not in member.orig_filename and member.filename != member.orig_filename:
                _refuse(f"has the file {quote_name(member.orig_filename)}, which has a second name")
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
    """Return a member's name in quotes, for a message; whoever made the pack chose the name."""
    return f"'{escape_text(name, longest=_MAX_SHOWN_CHARS)}'"


def _refuse(what: str) -> NoReturn:
    raise InputError(f"the pack {what}", hint="use a pack that `mptcplab pack` has made")


def _damage_error() -> InputError:
    return InputError("the pack is damaged, or no pack", hint="get it again, or make it with `mptcplab pack`")


# The manifest of a pack: its scenario, its files with their digests, what made it, and the recordings in it.
#
# It claims nothing that the reader does not check: digests are computed again, and what a run executes is found by
# loading the scenario.

FORMAT = 1
NAME = "manifest.json"
#: The folders of the scenario's files and of recordings.
SCENARIO_FOLDER, RECORDINGS_FOLDER = "scenario", "recordings"
_MAX_BYTES = 16 << 20

Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Text = Annotated[str, StringConstraints(max_length=300, pattern=r"^[^\x00-\x1f\x7f]*$")]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class PackedRecording(_Part):
    """One run in the pack. ``run`` is the digest of its scenario and seed, ``facts`` what else determined it.

    ``files`` has the digest of each file's numbers by its name, see :mod:`mptcplab.packs.compare`.
    """

    run: Digest
    seed: Whole
    settings: tuple[tuple[Text, Text], ...] = ()
    facts: dict[str, Any]
    files: dict[str, Digest]


class Manifest(_Part):
    """The content of a pack. ``files`` has the digests of all other members; ``plugins`` names what it does not bring.

    ``kernels`` has the key of each lab kernel that the scenario names, as far as the packing machine had it.
    """

    format: Whole
    mptcplab: Text
    architecture: Text
    scenario: str
    title: Text
    kernels: dict[Text, Digest | None] = Field(default_factory=dict)
    plugins: tuple[Text, ...] = ()
    files: dict[str, Digest]
    recordings: dict[str, PackedRecording] = Field(default_factory=dict)

    def to_json(self) -> bytes:
        """Return the manifest as JSON, as its member of the archive has it."""
        return f"{format_json(self.model_dump(mode='json'), levels=3)}\n".encode()


def read_manifest(content: bytes) -> Manifest:
    """Return the manifest of a pack. :raises InputError: if this version cannot read it."""
    if len(content) > _MAX_BYTES:
        raise _unreadable("is too large")
    try:
        written = json.loads(content)
        number = written.get("format") if isinstance(written, dict) else None
    except (ValueError, RecursionError) as error:
        raise _unreadable("is not JSON") from error
    if isinstance(number, int) and number > FORMAT:
        message = f"the pack has format {number}, and this version of mptcplab reads {FORMAT}"
        raise InputError(message if number < 10**6 else "the pack has an unknown format", hint="update mptcplab")
    try:
        manifest = Manifest.model_validate_json(content)
    except ValidationError as error:
        place = ".".join(str(part) for part in error.errors()[0]["loc"][:2])
        raise _unreadable(f"is wrong at {place[:60]!a}" if place else "is wrong") from error
    if manifest.format != FORMAT or manifest.scenario not in manifest.files:
        raise _unreadable("names no scenario in it" if manifest.format == FORMAT else "has no valid format")
    return manifest


def lone_manifest(name: str, content: bytes) -> Manifest:
    """Return a manifest for a single scenario file, which its author did not pack."""
    files = {name: digest_of(content)}
    return Manifest(format=FORMAT, mptcplab="", architecture="", title="", scenario=name, files=files)


def digest_of(content: bytes) -> str:
    """Return the SHA-256 digest of ``content``."""
    return hashlib.sha256(content).hexdigest()


def run_digest(scenario: Mapping[str, Any], seed: int) -> str:
    """Return the digest of a resolved scenario and a seed: the run, whatever kernel and programs execute it."""
    return digest_of(json.dumps([scenario, seed], sort_keys=True).encode())


def _unreadable(what: str) -> InputError:
    return InputError(f"the pack's manifest {what}", hint="use a pack that `mptcplab pack` has made")
