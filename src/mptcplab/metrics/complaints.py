# SPDX-License-Identifier: MIT
"""What the kernel's own checks complained of in a run: a result of a kernel that is wrong may be wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mptcplab.recording.record import Recording

FILE = "kernel.txt"
_SIGN = re.compile(r"\b(WARNING|BUG|UBSAN|KASAN|ODEBUG|Oops|INFO(?=: (possible|trying|suspicious))): ?(.*)")
_LONGEST = 160
_SHOWN = 3


def complaints_in(log: str) -> list[str]:
    """The first lines of different complaints in a kernel's log, in their order."""
    return list(dict.fromkeys(f"{sign[1]}: {sign[3]}"[:_LONGEST].strip() for sign in _SIGN.finditer(log)))


def kernel_complaints(recording: Recording) -> Iterator[str]:
    """A sentence for each of the first few different complaints."""
    file = recording.folder / FILE
    if not file.exists():
        return
    found = complaints_in(file.read_text(errors="replace"))
    for complaint in found[:_SHOWN]:
        yield f"the kernel complained, so its results may be wrong: {complaint} (see {FILE} of the recording)"
    if len(found) > _SHOWN:
        yield f"the kernel had {len(found) - _SHOWN} other complaints (see {FILE} of the recording)"
