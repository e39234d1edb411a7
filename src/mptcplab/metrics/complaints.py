# SPDX-License-Identifier: MIT
"""Errors that the kernel's own checks reported in a run, which may invalidate its results."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mptcplab.recording.record import Recording

FILE = "kernel.txt"
_SIGN = re.compile(r"\b(WARNING|BUG|UBSAN|KASAN|ODEBUG|Oops|INFO(?=: (possible|trying|suspicious))): ?(.*)")
_MAX_LENGTH = 160
_SHOWN = 3


def complaints_in(log: str) -> list[str]:
    """Return the first lines of the distinct errors in a kernel's log, in order."""
    return list(dict.fromkeys(f"{sign[1]}: {sign[3]}"[:_MAX_LENGTH].strip() for sign in _SIGN.finditer(log)))


def kernel_complaints(recording: Recording) -> Iterator[str]:
    """Yield a warning for each of the first few distinct errors."""
    file = recording.folder / FILE
    if not file.exists():
        return
    complaints = complaints_in(file.read_text(errors="replace"))
    for complaint in complaints[:_SHOWN]:
        yield f"the kernel reported an error, so the results may be wrong: {complaint} (see {FILE} of the recording)"
    if len(complaints) > _SHOWN:
        yield f"the kernel reported {len(complaints) - _SHOWN} other errors (see {FILE} of the recording)"
