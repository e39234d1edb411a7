# SPDX-License-Identifier: MIT
"""Packs: a scenario with everything that it names, in one file. What comes out of a pack is untrusted input."""

from __future__ import annotations

from pathlib import Path

#: The first bytes of a pack, which is a ZIP archive.
MAGIC = b"PK\x03\x04"
SUFFIX = ".mptcplab.zip"
_SCHEMES = ("http://", "https://")


def is_url(name: str) -> bool:
    """Return whether ``name`` is the address of a scenario or pack on the web."""
    return name.lower().startswith(_SCHEMES)


def is_pack(file: Path) -> bool:
    """Return whether ``file`` begins or is named like a pack. False if it cannot be read: its reader reports that.

    A pipe is a scenario: its beginning can be read only once.
    """
    try:
        if not file.is_file():
            return False
        with file.open("rb") as opened:
            return opened.read(len(MAGIC)) == MAGIC or file.name.endswith(SUFFIX)
    except (OSError, ValueError):
        return False
