# SPDX-License-Identifier: MIT
"""What `mptcplab explain` opens: collections that the script made in the lab, and files of strangers."""

from __future__ import annotations

import gzip
import io
import json
import os
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import pytest
from click.testing import CliRunner, Result

from mptcplab.cli.main import commands
from mptcplab.errors import InputError
from mptcplab.explain.answer import answer
from mptcplab.explain.readers import collection
from mptcplab.explain.sources import read_sources

COLLECTIONS = Path(__file__).parents[1] / "collections"


def command(*words: str | Path) -> Result:
    """Run a command of mptcplab in this process."""
    return CliRunner().invoke(commands, [str(word) for word in words])


def archive(
    path: Path,
    members: dict[str, bytes],
    kind: bytes = tarfile.REGTYPE,
    target: str = "",
    form: Literal["w", "w:gz"] = "w:gz",
) -> Path:
    """Write an archive as our script does, with any members."""
    with tarfile.open(path, form) as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size, member.type, member.linkname = len(content), kind, target
            tar.addfile(member, io.BytesIO(content))
    return path


def test_both_ends_of_a_connection_that_joined_nothing() -> None:
    report = answer(read_sources(sorted((COLLECTIONS / "not-accepted").iterdir())))
    assert report.hosts == ("client (opens the connections)", "server (accepts the connections)")
    first = report.explanations[0]
    assert first.finding.reason == "announcement-not-accepted"
    assert [str(place) for finding in first.evidence for place in finding.places][1] == "client/endpoints.txt:4"


def test_two_subflows_are_not_unusual() -> None:
    """No reason for a missing subflow or a fallback, where both subflows carried data."""
    report = answer(read_sources([COLLECTIONS / "two-subflows"]))
    kinds = {explanation.finding.kind for explanation in report.explanations}
    assert not kinds & {"no subflow", "fallback", "failover"}, report.explanations
    assert report.unread == ()


def test_the_output_names_reasons_evidence_and_what_is_missing() -> None:
    result = command("explain", *sorted((COLLECTIONS / "not-accepted").iterdir()))
    assert result.exit_code == 0, result.output
    for text in ("1. ", "Evidence: ", "[client/endpoints.txt:4]", "Cure: ", "To confirm: ", "Missing are:"):
        assert text in result.output


def test_json_has_the_same() -> None:
    document = json.loads(command("explain", "--json", COLLECTIONS / "not-accepted").stdout)
    assert document["reasons"][0]["reason"] == "announcement-not-accepted"
    assert document["reasons"][0]["evidence"][1]["places"] == [{"file": "client/endpoints.txt", "line": 4}]
    assert document["judged"] + len(document["lacking"]) > document["judged"] > 0


def test_the_user_names_the_client(tmp_path: Path) -> None:
    for name in ("left", "right"):
        (tmp_path / f"{name}.txt").write_text("ESTAB 0 0 192.0.2.1:4 192.0.2.2:80\n")
    (tmp_path / "client.txt").write_text("MPTcpExtMPCapableSYNRX 1 0.0\n")
    assert read_sources([tmp_path]).evidence.server is not None
    assert read_sources([tmp_path], client="client").evidence.client is not None
    with pytest.raises(InputError, match="no host 'nobody'"):
        read_sources([tmp_path], client="nobody")


@pytest.mark.parametrize("name", ["../outside.txt", "/tmp/outside.txt", "a/../../outside.txt"])
def test_a_path_does_not_leave_the_archive(tmp_path: Path, name: str) -> None:
    file = archive(tmp_path / "a.tar.gz", {name: b"MPTcpExtAddAddr 1 0.0\n", "nstat.txt": b"MPTcpExtAddAddr 1 0.0\n"})
    sources = read_sources([file])
    assert sources.understood == ["nstat.txt"]
    assert sources.skipped == [f"{name}: not a plain file within the archive"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar.gz"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_links_and_devices_are_not_followed(tmp_path: Path, kind: bytes) -> None:
    file = archive(tmp_path / "a.tar.gz", {"shadow.txt": b""}, kind, "/etc/passwd")
    with pytest.raises(InputError, match="nothing in a is recognised"):
        read_sources([file])


def test_links_of_a_folder_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "nstat.txt").write_text("MPTcpExtAddAddr 1 0.0\n")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link.txt").symlink_to(tmp_path / "nstat.txt")
    os.mkfifo(folder / "fifo")
    with pytest.raises(InputError, match="nothing in folder is recognised"):
        read_sources([folder])


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collection, "MAX_ARCHIVE_BYTES", 1 << 20)
    monkeypatch.setattr(collection, "MAX_TEXT_BYTES", 1 << 19)
    bomb = archive(tmp_path / "a.tar.gz", {"zeros.txt": bytes(2 << 20)})
    with pytest.raises(InputError, match="holds more than 1 MiB"):
        read_sources([bomb])
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"a" * (1 << 20)))
    with pytest.raises(InputError, match="more than 0 MiB"):
        read_sources([tmp_path / "b.txt.gz"])


def header(kind: bytes, size: int) -> bytes:
    """Return the header of a long name or of attributes, which announces its size."""
    member = tarfile.TarInfo("header")
    member.type, member.size = kind, size
    return member.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE])
def test_a_bomb_in_a_header_is_refused(tmp_path: Path, kind: bytes) -> None:
    """tarfile reads the name of a member at once, whatever size it announces: a file of 4 MB fills 4 GB of memory."""
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(header(kind, 4 << 30) + bytes(1 << 20)))
    with pytest.raises(InputError, match="a name or attributes of more than 64 KiB") as caught:
        read_sources([tmp_path / "a.tar.gz"])
    assert caught.value.hint


def test_headers_that_follow_each_other_without_end(tmp_path: Path) -> None:
    """tarfile calls itself for each of them."""
    long_name = header(tarfile.GNUTYPE_LONGNAME, 1) + b"a" + bytes(511)
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(long_name * 3000))
    with pytest.raises(InputError, match=r"a\.tar\.gz is a broken archive"):
        read_sources([tmp_path / "a.tar.gz"])


def test_two_files_of_one_name(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as tar:
        for content in (b"MPTcpExtAddAddr 1 0.0\n", b"MPTcpExtAddAddr 5 0.0\n"):
            member = tarfile.TarInfo("nstat.txt")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    sources = read_sources([path])
    assert sources.understood == ["nstat.txt"]
    assert sources.skipped == ["nstat.txt: a second time in the archive"]


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (("x" * 90 + "/a/nstat.txt", "x" * 90 + "/b/nstat.txt"), (f"...{'x' * 65}/{end}/nstat.txt" for end in "ab")),
        (("\udcff/nstat.txt", "\udcfe/nstat.txt"), ("?/nstat.txt", "?/nstat.txt (2)")),
        (("nstat.txt", "NSTAT.txt"), ("nstat.txt", "NSTAT.txt")),
    ],
    ids=["long", "undecodable", "case"],
)
def test_names_that_look_alike_are_two_files(tmp_path: Path, names: tuple[str, str], shown: Iterable[str]) -> None:
    members = dict.fromkeys(names, b"MPTcpExtAddAddr 1 0.0\n")
    assert read_sources([archive(tmp_path / "a.tar.gz", members)]).understood == list(shown)


def test_an_archive_in_an_archive_is_left_out_and_named(tmp_path: Path) -> None:
    inner = archive(tmp_path / "inner.tar", {"nstat.txt": b"MPTcpExtAddAddr 1 0.0\n"}, form="w")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("zeros", bytes(1 << 20))
    members = {"inner.tar": inner.read_bytes(), "a.zip": packed.getvalue(), "nstat.txt": b"MPTcpExtAddAddr 1 0.0\n"}
    sources = read_sources([archive(tmp_path / "a.tar.gz", members)])
    assert sources.understood == ["nstat.txt"]
    assert sources.skipped == ["inner.tar: an archive in an archive", "a.zip: neither a text nor a capture"]


def test_a_folder_of_bombs_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collection, "MAX_ARCHIVE_BYTES", 1 << 20)
    folder = tmp_path / "folder"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.txt.gz").write_bytes(gzip.compress(b"a" * (1 << 19)))
    with pytest.raises(InputError, match="folder holds more than 1 MiB"):
        read_sources([folder])


def test_many_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collection, "MAX_FILES", 3)
    many = archive(tmp_path / "a.tar.gz", {f"{number}.txt": b"a" for number in range(4)})
    with pytest.raises(InputError, match="more than 3 members"):
        read_sources([many])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"a letter to nobody\n", "nothing in a.txt is recognised"),
        ("a.txt", b"", "nothing in a.txt is recognised"),
        ("a.bin", b"\x7fELF\0\0", "neither a text nor a capture"),
        ("a.tar.gz", gzip.compress(b"x" * 5000, mtime=0)[:20], "broken"),
        ("a.tar", b"a" * 257 + b"ustar" + b"b" * 400, "broken archive"),
        ("a.pcap", b"\xd4\xc3\xb2\xa1\0\0", "a.pcap"),
    ],
)
def test_bad_files_are_one_sentence_and_a_hint(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_sources([tmp_path / name])
    assert caught.value.hint


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        read_sources([tmp_path / "no\nsuch"])
