# SPDX-License-Identifier: MIT
"""What ``tcpdump`` left becomes files of a recording, if nothing was lost."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from mptcplab.errors import LabError

#: Programs whose output is a capture are named so, with the file's name behind it.
PREFIX = "capture."
_SAID = re.compile(r"^(\d+) packets? (captured|dropped by kernel)$", re.MULTILINE)


def collect(folder: Path, programs: Iterable[str]) -> None:
    """Move the captures among the outputs of ``programs`` to ``captures/``.

    :raises LabError: when the kernel dropped packets, since a capture with holes says wrong things about TCP.
    """
    for name in programs:
        if not name.startswith(PREFIX):
            continue
        _check(name.removeprefix(PREFIX), (folder / "out" / f"{name}.err").read_text(errors="replace"))
        _move(folder / "out" / f"{name}.out", folder)


def collect_unchecked(folder: Path) -> None:
    """Move whatever captures are among the outputs in ``folder``; the last packets of a failed run may be missing."""
    for file in sorted((folder / "out").glob(f"{PREFIX}*.out")):
        _move(file, folder)


def _move(file: Path, folder: Path) -> None:
    target = folder / "captures" / f"{file.stem.removeprefix(PREFIX)}.pcap"
    target.parent.mkdir(exist_ok=True)
    file.rename(target)


def _check(name: str, said: str) -> None:
    counts = {what: int(count) for count, what in _SAID.findall(said)}
    if "captured" not in counts or "dropped by kernel" not in counts:
        words = said.strip()
        hint = f"tcpdump said: {words}" if words else "see console.txt: tcpdump itself said nothing"
        raise LabError(f"the capture {name} did not end as it should", hint=hint)
    # More packets "received" than captured are no loss: they passed when the capture had ended.
    lost = counts["dropped by kernel"]
    if lost:
        hint = "keep less of every packet (snaplen) or fewer packets (filter)"
        raise LabError(f"the capture {name} lost {lost} of {lost + counts['captured']} packets", hint=hint)
