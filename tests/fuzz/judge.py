# SPDX-License-Identifier: MIT
"""The protocol of targets, and the judgement of a reader's result."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from mptcplab.errors import LabError

_MAX_MESSAGE_CHARS = 1000


class Target(Protocol):
    """A reader under test."""

    name: str

    def seeds(self) -> Iterator[bytes]:
        """Yield the first inputs: valid ones, so that mutated ones reach far into the reader."""

    def read(self, data: bytes) -> None:
        """Read ``data`` and use the result as a command would. :raises LabError: if it is invalid."""


def judge(target: Target, data: bytes) -> bool:
    """Return whether ``data`` was accepted; False if it was refused in one sentence.

    Every other result is a finding, and is raised as the exception that it is.
    """
    try:
        target.read(data)
    except LabError as error:
        defect = _defect(error)
        if defect is not None:
            raise AssertionError(f"{defect}: {error.message!r}, {error.hint!r}") from error
        return False
    return True


def _defect(error: LabError) -> str | None:
    """Return the defect of an error's texts, or None."""
    if not error.message.isprintable():
        return "not one line of text"
    if len(error.message) > _MAX_MESSAGE_CHARS:
        return "too long"
    if not error.hint:
        return "no hint"
    return "a traceback" if "Traceback" in error.hint else None


def signature(error: BaseException) -> str:
    """Return the type and origin of an error, which are the same for the same bug."""
    origin = error.__cause__ if isinstance(error.__cause__, LabError) else error
    frames = traceback.extract_tb(origin.__traceback__)
    ours = [frame for frame in frames if "mptcplab" in Path(frame.filename).parts] or frames
    place = ours[-1]
    return f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
