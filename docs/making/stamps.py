# SPDX-License-Identifier: MIT
"""What each block of the documentation was made from: docs/stamps.json, written by ``make docs`` alone.

A block's stamp has the digest of its text, so a number that somebody typed shows, and the identities of the runs that
it was made from, so what a new kernel or scenario makes stale can be found without running anything.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from docs.making.pages import ROOT, Block

FILE = ROOT / "docs" / "stamps.json"
MEASURED = ROOT / "docs" / "measured.json"


@dataclass(frozen=True)
class Stamp:
    """``text`` is the block's digest, ``runs`` that of the runs' identities, ``kernels`` what they ran on.

    ``inputs`` has the digest of each file that the block depends on. ``runs`` is None where no run was recorded (a
    capture, a program), or where the block is older than stamps. What runs in the lab and is not recorded has the name
    of the kernel's entry in ``kernels``.
    """

    text: str
    runs: str | None = None
    kernels: tuple[str, ...] = ()
    inputs: dict[str, str] | None = None


def load() -> dict[str, Stamp]:
    """By the blocks' keys."""
    if not FILE.exists():
        return {}
    stamps = json.loads(FILE.read_text())
    return {key: Stamp(**{**stamp, "kernels": tuple(stamp["kernels"])}) for key, stamp in stamps.items()}


def write(stamps: dict[str, Stamp]) -> None:
    """Replace the file."""
    FILE.write_text(json.dumps({key: asdict(stamps[key]) for key in sorted(stamps)}, indent=1) + "\n")


def measured() -> dict[str, float]:
    """Values that tests of the lab have measured, by name."""
    loaded: dict[str, float] = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
    return loaded


def made(block: Block, documents: Sequence[dict[str, Any]], inputs: Iterable[Path], entry: str | None = None) -> Stamp:
    """The stamp of a block that was just made from these results, or without results on the kernel ``entry``."""
    rows = [row for document in documents for row in document["rows"]]
    runs = digest_of(run for row in rows for run in row["runs"]) if rows else None
    kernels = tuple(sorted({str(row["kernel"]) for row in rows})) or ((entry,) if entry else ())
    return Stamp(block.digest, runs, kernels, digests(inputs))


def digest_of(identities: Iterable[str]) -> str:
    """One for all runs, in whatever order."""
    return hashlib.sha256("\n".join(sorted(set(identities))).encode()).hexdigest()[:16]


def digests(files: Iterable[Path]) -> dict[str, str]:
    """Of files of the project, by their names in it."""
    return {
        str(file.relative_to(ROOT)): hashlib.sha256(file.read_bytes()).hexdigest()[:16] for file in sorted(set(files))
    }
