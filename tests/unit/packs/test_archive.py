# SPDX-License-Identifier: MIT
"""The archive of a pack: the same bytes for the same content, and one sentence for each attack."""

from __future__ import annotations

import io
import stat
import struct
import time
import zipfile
import zlib
from collections.abc import Callable

import pytest

from mptcplab.errors import Exit, InputError
from mptcplab.packs import archive
from mptcplab.packs.archive import Archive, write_archive


def build_zip(*members: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return an archive as a stranger writes it, without our checks."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as made:
        for name, content in members:
            made.writestr(name, content)
    return buffer.getvalue()


def special(name: str, kind: int) -> zipfile.ZipInfo:
    """Return a member of another kind than a regular file."""
    member = zipfile.ZipInfo(name)
    member.create_system, member.external_attr = 3, (kind | 0o777) << 16
    return member


def read_all(data: bytes) -> dict[str, bytes]:
    """Return the content of all members by name."""
    opened = Archive(data)
    return {name: opened.read(name) for name in sorted(opened.names)}


def refusal(data: bytes) -> str:
    """Return the one sentence for an archive that is refused, also when its members are read."""
    with pytest.raises(InputError) as caught:
        read_all(data)
    error = caught.value
    assert error.status == Exit.BAD_INPUT
    assert error.hint
    assert error.message.isprintable()
    assert len(error.message) < 300
    return error.message


@pytest.mark.slow
def test_bytes_depend_on_the_content_alone() -> None:
    first = write_archive({"b.csv": b"2", "a/c.toml": b"1"})
    time.sleep(2.1)  # ZIP counts in steps of two seconds
    assert write_archive({"a/c.toml": b"1", "b.csv": b"2"}) == first
    assert read_all(first) == {"a/c.toml": b"1", "b.csv": b"2"}


@pytest.mark.parametrize(
    "name",
    [
        "../evil.toml",
        "a/../../evil.toml",
        "a/..",
        "/etc/passwd",
        "//host/share",
        "C:/evil.toml",
        "..\\evil.toml",
        "a\\b.toml",
        "./a.toml",
        "a//b.toml",
        "a/./b.toml",
        "evil\x1b[2J.toml",
        "evil\n.toml",
        "e\u0301.toml",
        "a\u202eb.toml",
        "a./b.toml",
        "a.toml ",
        "x" * 256,
        "/".join(["x" * 100] * 11),
    ],
    ids=ascii,
)
def test_a_name_that_is_no_path_below_a_folder(name: str) -> None:
    assert "has the file '" in refusal(build_zip((name, b"x")))
    with pytest.raises(InputError):
        write_archive({name: b"x"})


def test_a_name_that_ends_at_a_zero_byte_for_some_readers() -> None:
    data = build_zip(("a.toml_../b", b"x")).replace(b"a.toml_../b", b"a.toml\0../b")
    assert refusal(data)


def test_a_second_name_in_an_extra_field(monkeypatch: pytest.MonkeyPatch) -> None:
    """zipfile of Python 3.13 calls the member by this name, and 3.11 does not."""
    member = zipfile.ZipInfo("scenario/a.toml")
    second = b"../../evil.toml"
    member.extra = struct.pack("<HHBL", 0x7075, 5 + len(second), 1, zlib.crc32(b"scenario/a.toml")) + second

    def decode(entry: zipfile.ZipInfo, *_: object) -> None:
        assert entry.extra.endswith(second)
        entry.filename = second.decode()

    monkeypatch.setattr(zipfile.ZipInfo, "_decodeExtra", decode)
    assert refusal(build_zip((member, b"x"))) == "the pack has the file 'scenario/a.toml', which has a second name"


@pytest.mark.parametrize(
    "names",
    [("a.toml", "a.toml"), ("a.toml", "A.TOML"), ("stra\u00dfe.csv", "STRASSE.csv"), ("a", "a/b"), ("A/b", "a")],
    ids=ascii,
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_names_of_one_file(names: tuple[str, str]) -> None:
    message = refusal(build_zip(*((name, name.encode()) for name in names)))
    assert "twice" in message or "as a file and as a folder" in message


@pytest.mark.parametrize(
    "kind", [stat.S_IFLNK, stat.S_IFDIR, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK], ids=oct
)
def test_links_devices_and_folders(kind: int) -> None:
    assert "not a regular file" in refusal(build_zip((special("a.toml", kind), b"/etc/passwd")))


def test_a_folder() -> None:
    assert "leads out" in refusal(build_zip(("a/", b""))) or "regular file" in refusal(build_zip(("a/", b"")))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_that_packs_do_not_use(method: int) -> None:
    assert "by a method that packs do not use" in refusal(build_zip(("a.toml", b"x" * 100), method=method))


def test_an_encrypted_member() -> None:
    data = bytearray(build_zip(("a.toml", b"x")))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    assert "encrypted" in refusal(bytes(data))


def test_a_bomb_by_ratio() -> None:
    # 20 MB of zeros are 20 kB: a thousandth.
    assert "times its size" in refusal(build_zip(("zeros.csv", bytes(20 << 20))))


def test_a_small_file_may_compress_well() -> None:
    assert Archive(build_zip(("a.csv", bytes(1 << 20)))).read("a.csv") == bytes(1 << 20)


def test_a_bomb_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_MEMBERS", 10)
    data = build_zip(*((f"{number}.csv", b"") for number in range(11)))
    # Refused before zipfile makes an object of each entry.
    monkeypatch.setattr(zipfile, "ZipFile", pytest.fail)
    assert "more than 10 files" in refusal(data)


@pytest.mark.parametrize(("limit", "words"), [("MAX_MEMBER_BYTES", "a file of more"), ("MAX_TOTAL_BYTES", "together")])
def test_a_bomb_by_size(monkeypatch: pytest.MonkeyPatch, limit: str, words: str) -> None:
    monkeypatch.setattr(archive, limit, 3 << 20)
    content = bytes(range(256)) * (8 << 10)  # 2 MiB
    members = [("a.csv", content * 2)] if limit == "MAX_MEMBER_BYTES" else [("a.csv", content), ("b.csv", content)]
    assert words in refusal(build_zip(*members, method=zipfile.ZIP_STORED))


def test_an_archive_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_ARCHIVE_BYTES", 100)
    assert "is larger than" in refusal(build_zip(("a.csv", bytes(range(200))), method=zipfile.ZIP_STORED))


def test_members_that_share_their_data() -> None:
    """Many entries of the directory can name the same data: a bomb whose archive stays small."""
    data = build_zip(("a.csv", bytes(1 << 20)))
    start = data.index(b"PK\x01\x02")
    end = data.index(b"PK\x05\x06")
    entry = data[start:end]
    entries = b"".join(entry.replace(b"a.csv", f"{n:05d}".encode()) for n in range(60))
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 60, 60, len(entries), start, 0)
    assert "times its size" in refusal(data[:start] + entries + tail)


def announce_less(data: bytes) -> bytes:
    """Return the archive of one member of 5000 bytes with the announcement that it has 50."""
    return data.replace(struct.pack("<L", 5000), struct.pack("<L", 50))


def cut(data: bytes) -> bytes:
    """Return the archive without its end."""
    return data[: len(data) // 2]


def flip(data: bytes) -> bytes:
    """Return the archive with other data of its member."""
    at = data.index(b"PK\x01\x02") // 2
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


@pytest.mark.parametrize("damage", [announce_less, cut, flip])
def test_damage(damage: Callable[[bytes], bytes]) -> None:
    assert "is damaged" in refusal(damage(build_zip(("a.csv", bytes(range(250)) * 20))))


def test_no_archive() -> None:
    assert "is damaged" in refusal(b"PK\x03\x04 and nothing else")
