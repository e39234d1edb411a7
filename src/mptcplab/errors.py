# SPDX-License-Identifier: MIT
"""What can go wrong, as a user sees it: one sentence, a hint, an exit status.

Every error that a user can cause or meet is a :class:`LabError`. The command
line prints its message and hint and exits with its status; anything else that
reaches the command line is a bug of ours.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum


class Exit(IntEnum):
    """Exit statuses of every ``mptcplab`` command."""

    DONE = 0
    FAILED = 1
    BAD_INPUT = 2
    MISSING = 3
    INTERRUPTED = 130


class Mistake(StrEnum):
    """What is wrong with a key of a scenario, as a word that stays when a message is worded anew."""

    SYNTAX = "syntax"  # it cannot be read at all
    FILE = "file"  # a file that is named is not there, or not what it should be
    UNKNOWN = "unknown"  # nothing reads such a key
    MISSING = "missing"  # it has to be there
    TYPE = "type"  # text where a number belongs, or the like
    CHOICE = "choice"  # none of the words that may stand there
    QUANTITY = "quantity"  # no number with a unit, or one that cannot be held
    VALUE = "value"  # cannot be used, whatever else the file says
    REFERENCE = "reference"  # names something that does not exist, or is elsewhere
    CONFLICT = "conflict"  # does not fit what another key says
    IDLE = "idle"  # would do nothing


class LabError(Exception):
    """A run failed, or a verdict that was asked for does not hold (status 1).

    ``message`` is one sentence without a final full stop; ``hint`` says what
    to do about it.
    """

    status: Exit = Exit.FAILED

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class InputError(LabError):
    """What the user wrote is wrong (status 2)."""

    status = Exit.BAD_INPUT


class MissingError(LabError):
    """This machine lacks something (status 3)."""

    status = Exit.MISSING


def reason(error: OSError) -> str:
    """What the system says is wrong, as a part of a sentence."""
    return (error.strerror or str(error)).lower()
