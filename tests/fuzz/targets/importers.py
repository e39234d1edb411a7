# SPDX-License-Identifier: MIT
"""What ``mptcplab import`` reads: scripts, Mininet, minitopo and UCI."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

from mptcplab.importers.compose import Composer
from mptcplab.importers.files import import_texts, read_texts
from mptcplab.importers.world import World
from mptcplab.scenario.writing import write_scenario

_NAME, _LOADED = "client.txt", 8
_FILES = Path(__file__).resolve().parents[3] / "tests" / "unit" / "imports"


class ImportTarget:
    """One text, which is recognised by its content and becomes a scenario that loads."""

    name = "import"

    def seeds(self) -> Iterator[bytes]:
        """Yield a file of each format."""
        for file in sorted(_FILES.iterdir()):
            if file.suffix != ".md":
                yield file.read_bytes()

    def read(self, data: bytes) -> None:
        """Import a text, as the command does. Loading the result takes most of the time: one input of eight is."""
        text = data.decode(errors="replace")
        if crc32(data) % _LOADED == 0:
            import_texts({_NAME: text})
            return
        world = World()
        read_texts(world, {_NAME: text})
        write_scenario(Composer(world).tables())
