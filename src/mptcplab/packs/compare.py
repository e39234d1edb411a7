# SPDX-License-Identifier: MIT
"""Compare new recordings with packed ones: whether the numbers are the same bytes, and what else differs if not.

A stranger's tables are not read: the manifest of the pack has digests of their numbers. A table's digest is computed
from its values, since its file has different bytes when another version of the library has written it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mptcplab.lazy import pl
from mptcplab.packs.archive import Manifest, digest_of, run_digest
from mptcplab.recording.record import Recording

#: Files that are not numbers: what ran and under which names, and what the guest and the kernel wrote for people.
_NOT_NUMBERS = ("manifest.json", "plan.json", "console.txt")
_TABLE = ".parquet"
#: What determined a run, in the words of a report.
_FACTS = {
    "mptcplab": "version of mptcplab",
    "recorder": "code that records",
    "engine": "engine",
    "kernel": "kernel",
    "programs": "programs",
    "libraries": "libraries",
    "plan_sha256": "plan",
    "bpf": "eBPF programs",
    "format": "format of recordings",
}
_MAX_NAMED = 3


@dataclass(frozen=True)
class RecordedRun:
    """The run of a recording: the digest of its scenario and seed, its settings, and what else determined it."""

    digest: str
    seed: int
    settings: tuple[tuple[str, str], ...]
    facts: dict[str, Any]

    @property
    def label(self) -> str:
        """The run in the words of a report."""
        return ", ".join([*(f"{key} = {value}" for key, value in self.settings), f"seed {self.seed}"])


def read_run(recording: Recording) -> RecordedRun:
    """Return the run of a recording. :raises LabError: if the recording cannot be read."""
    manifest = recording.manifest
    scenario, seed = manifest["scenario"], manifest["seed"]
    settings = tuple((str(key), str(value)) for key, value in manifest["settings"])
    facts = {name: fact for name, fact in manifest["facts"].items() if name not in ("scenario", "seed")}
    return RecordedRun(run_digest(scenario, seed), seed, settings, facts)


@dataclass(frozen=True)
class NumberComparison:
    """New recordings beside a pack's, by run.

    ``differing`` has the files with other numbers of each run, ``facts`` what differs of that which determined the
    runs, with the packed and the new value if both are short.
    """

    same: int
    differing: Mapping[str, tuple[str, ...]]
    missing: int
    facts: tuple[str, ...]

    def sentences(self) -> list[str]:
        """Return the result for readers."""
        total = self.same + len(self.differing)
        lines = []
        if not total:
            lines.append("None of these runs is in the pack, so that there is nothing to compare.")
        elif not self.differing:
            lines.append(f"The numbers of {_count(total)} are the same bytes as those in the pack.")
        else:
            lines.append(f"The numbers of {len(self.differing)} of {_count(total)} differ from those in the pack:")
            for label, files in list(self.differing.items())[:_MAX_NAMED]:
                more = f" and {len(files) - _MAX_NAMED} more" if len(files) > _MAX_NAMED else ""
                lines.append(f"  {label}: {', '.join(files[:_MAX_NAMED])}{more}")
        if self.facts:
            lines.append(f"What differs between the two machines: {'; '.join(self.facts)}.")
        elif self.differing:
            lines.append("Kernel, programs, libraries and version are the same, so this is a bug or another processor.")
        if self.missing:
            lines.append(f"The pack has recordings of {_count(self.missing)} more.")
        return lines


def _count(runs: int) -> str:
    return "1 run" if runs == 1 else f"{runs} runs"


def number_digests(folder: Path) -> dict[str, str]:
    """Return the digest of the numbers in each file of a recording, by its name."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    names = ((file, file.relative_to(folder).as_posix()) for file in files)
    return {name: _digest(file) for file, name in names if name not in _NOT_NUMBERS}


def _digest(file: Path) -> str:
    if file.suffix != _TABLE:
        return digest_of(file.read_bytes())
    frame = pl.read_parquet(file)
    digest = hashlib.sha256(repr(frame.columns).encode())
    for row in frame.iter_rows():
        digest.update(repr(row).encode())
    return digest.hexdigest()


def compare_recordings(manifest: Manifest, folders: Iterable[Path], architecture: str) -> NumberComparison:
    """Compare the recordings in ``folders`` with a pack's. :raises LabError: if one cannot be read."""
    packed = {recording.run: recording for recording in manifest.recordings.values()}
    same, differing, facts, compared = 0, {}, dict[str, None](), set()
    for folder in dict.fromkeys(folders):
        new = read_run(Recording(folder))
        if new.digest not in packed:
            continue
        compared.add(new.digest)
        old, digests = packed[new.digest], number_digests(folder)
        files = tuple(sorted(name for name in {*old.files, *digests} if old.files.get(name) != digests.get(name)))
        facts.update(dict.fromkeys(_differences(old.facts, new.facts)))
        if files:
            differing[new.label] = files
        else:
            same += 1
    if architecture != manifest.architecture:
        facts[f"machine ({manifest.architecture} in the pack, {architecture} here)"] = None
    return NumberComparison(same, differing, len(packed) - len(compared), tuple(facts))


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return which facts differ, in words."""
    return [
        words + _values(old.get(key), new.get(key)) for key, words in _FACTS.items() if old.get(key) != new.get(key)
    ]


def _values(old: Any, new: Any) -> str:
    """Return the two values of a fact, or the names of its parts that differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        release = [side.get("release") for side in (old, new)]
        if release[0] != release[1] and all(isinstance(name, str) for name in release):
            return _values(*release)
        names = sorted(str(name) for name in {*old, *new} if old.get(name) != new.get(name))
        more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
        return f" ({', '.join(ascii(name)[1:-1][:40] for name in names[:_MAX_NAMED])}{more})"
    if isinstance(old, str) and isinstance(new, str) and max(len(old), len(new)) <= 40:
        return f" ({ascii(old)[1:-1]} in the pack, {new} here)"
    return ""
