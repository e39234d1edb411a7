# SPDX-License-Identifier: MIT
"""What a target is, and what counts as a good end."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from mptcplab.errors import LabError

_LONGEST_MESSAGE = 1000


class Target(Protocol):
    """A reader under test."""

    name: str

    def seeds(self) -> Iterator[bytes]:
        """Inputs to begin with: good ones, so that changed ones get far."""

    def read(self, data: bytes) -> None:
        """Read ``data`` and use the result as a command would. :raises LabError: for what is wrong with it."""


def judge(target: Target, data: bytes) -> bool:
    """Whether ``data`` was taken; False when it was refused in one sentence.

    Every other end is a finding, and leaves as the exception that it is.
    """
    try:
        target.read(data)
    except LabError as error:
        fault = _fault(error)
        if fault is not None:
            raise AssertionError(f"{fault}: {error.message!r}, {error.hint!r}") from error
        return False
    return True


def _fault(error: LabError) -> str | None:
    """What is wrong with the way in which it is told."""
    if not error.message.isprintable():
        return "not one line of text"
    if len(error.message) > _LONGEST_MESSAGE:
        return "too long"
    if not error.hint:
        return "no hint"
    return "a traceback" if "Traceback" in error.hint else None


def signature(error: BaseException) -> str:
    """What kind it is and where it came from: the same for the same defect."""
    described = error.__cause__ if isinstance(error.__cause__, LabError) else error
    frames = traceback.extract_tb(described.__traceback__)
    ours = [frame for frame in frames if "mptcplab" in Path(frame.filename).parts] or frames
    place = ours[-1]
    return f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
