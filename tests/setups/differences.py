# SPDX-License-Identifier: MIT
"""Compares the results of two set-ups: recordings by their settings and seeds, all other files by their names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_MANIFEST = "manifest.json"
#: Parts of a manifest that name the programs of a machine, and not what was measured.
_OF_MACHINES = ("facts", "identity")


@dataclass(frozen=True)
class Difference:
    """The files that differ of ``compared`` ones, and the programs whose versions do."""

    compared: int
    files: tuple[str, ...]
    programs: tuple[str, ...]

    def __str__(self) -> str:
        if not self.compared:
            return "no files"
        said = (
            f"{len(self.files)} of {self.compared} files differ" if self.files else f"all {self.compared} files equal"
        )
        return f"{said}; other versions of {', '.join(self.programs)}" if self.programs else said


def compare(first: Path, second: Path) -> Difference:
    """Return how the results in ``second`` differ from those in ``first``."""
    contents = [_contents(folder) for folder in (first, second)]
    names = sorted({*contents[0], *contents[1]})
    different = tuple(name for name in names if contents[0].get(name) != contents[1].get(name))
    versions = [_programs(folder) for folder in (first, second)]
    programs = tuple(
        sorted(name for name in {*versions[0], *versions[1]} if versions[0].get(name) != versions[1].get(name))
    )
    return Difference(len(names), different, programs)


def _contents(folder: Path) -> dict[str, bytes]:
    """Return all files of recordings and logs of selftests, by names that do not depend on the machine."""
    logs = {str(file.relative_to(folder)): file.read_bytes() for file in folder.glob("*.log")}
    return logs | {
        f"{_label(manifest)}/{file.relative_to(place)}": _bytes(file)
        for place, manifest in _manifests(folder).items()
        for file in place.rglob("*")
        if file.is_file()
    }


def _bytes(file: Path) -> bytes:
    """Return the content of a file; of a manifest, without what names the machine's programs."""
    if file.name != _MANIFEST:
        return file.read_bytes()
    manifest = json.loads(file.read_text())
    return json.dumps({key: value for key, value in manifest.items() if key not in _OF_MACHINES}).encode()


def _label(manifest: Mapping[str, Any]) -> str:
    settings = ", ".join(f"{key} {value}" for key, value in manifest["settings"])
    return f"{settings or 'run'}, seed {manifest['seed']}"


def _manifests(folder: Path) -> dict[Path, dict[str, Any]]:
    return {file.parent: json.loads(file.read_text()) for file in sorted(folder.rglob(f"runs/*/{_MANIFEST}"))}


def _programs(folder: Path) -> dict[str, str]:
    """Return the versions of all programs of the recordings, by their names."""
    return {
        name: version
        for manifest in _manifests(folder).values()
        for name, version in manifest["facts"]["programs"].items()
    }
