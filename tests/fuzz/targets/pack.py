# SPDX-License-Identifier: MIT
"""The reader of packs: archive, manifest and scenario of a stranger, up to what its runs would execute."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from mptcplab.packs.archive import NAME, lone_manifest, write_archive
from mptcplab.packs.make import make_pack
from mptcplab.packs.open import foreign_code, open_pack
from mptcplab.scenario.load import load

_ROOT = Path(__file__).resolve().parents[3]
_SCENARIO = "scenario/fuzz.toml"
#: Scenarios with a trace, with the source of a program, and with neither.
_EXAMPLES = ("ride/7-ride", "ebpf/my-control", "two-paths")
#: What follows is the text of a scenario, which becomes a pack whose digests are right.
_TEXT = b"text:"


class PackTarget:
    """A pack; or the text of a scenario, from which one is made, so that mutations get beyond the digests."""

    name = "pack"

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="mptcplab-fuzz-")
        self._file = Path(self._folder.name) / "fuzz.mptcplab.zip"

    def seeds(self) -> Iterator[bytes]:
        """Yield packs and texts of our examples, and texts that lead out of a pack."""
        for name in _EXAMPLES:
            file = _ROOT / "examples" / f"{name}.toml"
            yield make_pack(file).content
            yield _TEXT + file.read_bytes()
        yield _TEXT + b'extends = "../../etc/passwd"\ntitle = "a"\n'

    def read(self, data: bytes) -> None:
        """Open the pack and load its scenario. Every file that it names is in the pack's folder."""
        if data.startswith(_TEXT):
            content = data.removeprefix(_TEXT)
            data = write_archive({_SCENARIO: content, NAME: lone_manifest(_SCENARIO, content).to_json()})
        self._file.write_bytes(data)
        with open_pack(self._file) as pack:
            root = pack.file.parents[len(Path(pack.manifest.scenario).parts) - 1]
            try:
                foreign_code(load(pack.file, named=pack.named), pack.named)
            finally:
                outside = [file for file in pack.named.files if not file.resolve().is_relative_to(root.resolve())]
                assert not outside, f"the pack names {outside}"
