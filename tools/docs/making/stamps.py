# SPDX-License-Identifier: MIT
"""The origin of each block of the documentation: tools/docs/stamps.json, written only by ``make docs``.

A block's stamp has the digest of its text, which reveals typed numbers, and the identities of the runs that it was made
from, which reveal blocks that a new kernel or scenario made stale, without running anything.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tools.docs.making.pages import ROOT, Block

FILE = ROOT / "tools" / "docs" / "stamps.json"
MEASURED = ROOT / "tools" / "docs" / "measured.json"


@dataclass(frozen=True)
class Stamp:
    """The origin of a block: ``text`` is its digest, ``runs`` digests its runs' identities, ``kernels`` are theirs.

    ``inputs`` has the digest of each file or folder that the block depends on. ``runs`` is None if no run was recorded
    (a capture, a program), or if the block predates stamps. For unrecorded runs in the lab, ``kernels`` has the name of
    the kernel's entry.
    """

    text: str
    runs: str | None = None
    kernels: tuple[str, ...] = ()
    inputs: dict[str, str] | None = None


def load() -> dict[str, Stamp]:
    """Return the stamps by the blocks' keys."""
    if not FILE.exists():
        return {}
    stamps = json.loads(FILE.read_text())
    return {key: Stamp(**{**stamp, "kernels": tuple(stamp["kernels"])}) for key, stamp in stamps.items()}


def write(stamps: dict[str, Stamp]) -> None:
    """Replace the file."""
    FILE.write_text(json.dumps({key: asdict(stamps[key]) for key in sorted(stamps)}, indent=1) + "\n")


def read_measured() -> dict[str, float]:
    """Return the values that tests of the lab have measured, by name."""
    loaded: dict[str, float] = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
    return loaded


def make_stamp(
    block: Block, documents: Sequence[dict[str, Any]], inputs: Iterable[Path], entry: str | None = None
) -> Stamp:
    """Return the stamp of a block just made from these results, or without results on the kernel ``entry``."""
    rows = [row for document in documents for row in document["rows"]]
    runs = digest_of(run for row in rows for run in row["runs"]) if rows else None
    kernels = tuple(sorted({str(row["kernel"]) for row in rows})) or ((entry,) if entry else ())
    return Stamp(block.digest, runs, kernels, digests(inputs))


def digest_of(identities: Iterable[str]) -> str:
    """Return one digest for all runs, independent of their order."""
    return hashlib.sha256("\n".join(sorted(set(identities))).encode()).hexdigest()[:16]


def digests(paths: Iterable[Path]) -> dict[str, str]:
    """Return the digests of files and folders of the project, by their paths in it."""
    return {
        str(path.relative_to(ROOT)): (_digest_folder(path) if path.is_dir() else _digest_file(path))
        for path in sorted(set(paths))
    }


def _digest_file(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]


def _digest_folder(folder: Path) -> str:
    """Return the digest of the names and the contents of all files in a folder."""
    files = (file for file in folder.rglob("*") if file.is_file())
    return digest_of(f"{file.relative_to(folder)} {_digest_file(file)}" for file in files)
