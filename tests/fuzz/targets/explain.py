# SPDX-License-Identifier: MIT
"""What ``mptcplab explain`` reads: texts of real machines, and archives of them."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

from mptcplab.errors import InputError
from mptcplab.explain.answer import answer
from mptcplab.explain.readers.collection import kind_of
from mptcplab.explain.sources import read_sources

_UNIT = Path(__file__).resolve().parents[3] / "tests" / "unit"
#: The first byte of an input says what the rest is: the text of a client or server, or an archive before compression.
_CLIENT, _SERVER, _ARCHIVE = b"CSA"
_MOST_OF_A_TEXT = 12_000


class ExplainTarget:
    """One file, which is read and answered as the command does. Captures have targets of their own."""

    name = "explain"

    def __init__(self) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="mptcplab-fuzz-")
        self._folder = Path(self._temporary.name)

    def seeds(self) -> Iterator[bytes]:
        """Yield the files of reports and of collections, and an archive."""
        for file in sorted((_UNIT / "explain" / "reports").glob("*/*.txt")):
            kind = _SERVER if file.stem == "server" else _CLIENT
            yield bytes([kind]) + file.read_bytes()
        texts = {}
        for archive in sorted((_UNIT / "collections").glob("*/*.tar.gz")):
            with tarfile.open(archive) as tar:
                for member in tar:
                    file_of_member = tar.extractfile(member)
                    if file_of_member is not None:
                        texts[member.name] = file_of_member.read()[:_MOST_OF_A_TEXT]
        for name, text in texts.items():
            yield bytes([_SERVER if "server" in name else _CLIENT]) + text
        yield bytes([_ARCHIVE]) + _archive({name: text[:500] for name, text in texts.items() if "endpoints" in name})

    def read(self, data: bytes) -> None:
        """Read a file with this content, and answer."""
        kind, rest = data[:1], data[1:]
        names = {bytes([_CLIENT]): "client.txt", bytes([_SERVER]): "server.txt", bytes([_ARCHIVE]): "client.tar.gz"}
        if kind not in names or kind_of(rest[:512]) == "capture":
            raise InputError("not an input of this target", hint="captures have another one")
        file = self._folder / names[kind]
        file.write_bytes(gzip.compress(rest, 1) if kind == bytes([_ARCHIVE]) else rest)
        json.dumps(answer(read_sources([file])).document())


def _archive(texts: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for name, text in {"client/index.txt": b"mptcplab collect 1\n", **texts}.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    return target.getvalue()
