# SPDX-License-Identifier: MIT
"""Moves the output of ``tcpdump`` to the captures of a recording, if no packets were lost."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from mptcplab.errors import LabError

#: The prefix of the names of programs whose output is a capture; the file's name follows.
PREFIX = "capture."
_COUNT = re.compile(r"^(\d+) packets? (captured|dropped by kernel)$", re.MULTILINE)


def collect(folder: Path, programs: Iterable[str]) -> None:
    """Move the captures among the outputs of ``programs`` to ``captures/``.

    :raises LabError: if the kernel dropped packets, since an incomplete capture misrepresents TCP.
    """
    for name in programs:
        if not name.startswith(PREFIX):
            continue
        _check(name.removeprefix(PREFIX), (folder / "out" / f"{name}.err").read_text(errors="replace"))
        _move(folder / "out" / f"{name}.out", folder)


def collect_unchecked(folder: Path) -> None:
    """Move all captures among the outputs in ``folder``. Captures of a failed run may lack the last packets."""
    for file in sorted((folder / "out").glob(f"{PREFIX}*.out")):
        _move(file, folder)


def _move(file: Path, folder: Path) -> None:
    target = folder / "captures" / f"{file.stem.removeprefix(PREFIX)}.pcap"
    target.parent.mkdir(exist_ok=True)
    file.rename(target)


def _check(name: str, messages: str) -> None:
    counts = {kind: int(count) for count, kind in _COUNT.findall(messages)}
    if "captured" not in counts or "dropped by kernel" not in counts:
        text = messages.strip()
        hint = f"tcpdump printed: {text}" if text else "see console.txt: tcpdump itself printed nothing"
        raise LabError(f"the capture {name} did not end properly", hint=hint)
    # More packets "received" than captured are not lost: they passed after the end of the capture.
    lost = counts["dropped by kernel"]
    if lost:
        hint = "keep less of every packet (snaplen) or fewer packets (filter)"
        raise LabError(f"the capture {name} lost {lost} of {lost + counts['captured']} packets", hint=hint)
