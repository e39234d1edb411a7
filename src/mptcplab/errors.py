# SPDX-License-Identifier: MIT
"""Errors for users: one sentence, a hint, an exit status.

Every expected error is a :class:`LabError`. The command line prints its message
and hint and exits with its status; any other exception that reaches the command
line is a bug of mptcplab.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum, StrEnum
from typing import TypeVar

Subject = TypeVar("Subject")


class Exit(IntEnum):
    """Exit statuses of every ``mptcplab`` command."""

    DONE = 0
    FAILED = 1
    BAD_INPUT = 2
    MISSING = 3
    INTERRUPTED = 130


class Mistake(StrEnum):
    """The kind of mistake in a key of a scenario: stable when messages are reworded."""

    SYNTAX = "syntax"  # cannot be parsed
    FILE = "file"  # names a file that is missing or unsuitable
    UNKNOWN = "unknown"  # is not a key here
    MISSING = "missing"  # a required key is missing
    TYPE = "type"  # has a value of the wrong type
    CHOICE = "choice"  # is not one of the choices
    QUANTITY = "quantity"  # is not a number with a unit, or is out of range
    VALUE = "value"  # has an unusable value, independent of other keys
    REFERENCE = "reference"  # names something that does not exist, or is elsewhere
    CONFLICT = "conflict"  # conflicts with another key
    IDLE = "idle"  # would have no effect
    UNAVAILABLE = "unavailable"  # is a feature of the other path manager


class LabError(Exception):
    """A run failed, or a requested verdict does not hold (status 1).

    ``message`` is one sentence without a final full stop; ``hint`` is the remedy.
    """

    status: Exit = Exit.FAILED

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def hint(self) -> str | None:
        """The remedy. It is also the exception's note, for scripts that do not catch it."""
        return self._hint

    @hint.setter
    def hint(self, hint: str | None) -> None:
        self._hint = hint
        self.__notes__ = [] if hint is None else [f"hint: {hint}"]


class InputError(LabError):
    """The user's input is wrong (status 2)."""

    status = Exit.BAD_INPUT


class MissingError(LabError):
    """The machine lacks a program, file or feature (status 3).

    ``subject`` names it in a list of several. ``packages`` are the Debian packages that have it, or ``command`` is the
    command of mptcplab that builds or downloads it; without a ``hint``, this is the hint. ``alternative`` says how to
    go on without it.
    """

    status = Exit.MISSING

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        subject: str = "",
        packages: Sequence[str] = (),
        command: str = "",
        alternative: str = "",
    ) -> None:
        install = f"sudo apt-get install {' '.join(packages)}" if packages else None
        remedy = hint or command or install
        super().__init__(message, hint=f"{remedy}\n  or {alternative}" if alternative else remedy)
        self.subject = subject or message
        self.packages = tuple(packages)
        self.command = command
        self.alternative = alternative


def try_each(find: Callable[[Subject], object], subjects: Iterable[Subject]) -> Iterator[tuple[Subject, MissingError]]:
    """Call ``find`` with each of ``subjects``, and yield those for which it raises a `MissingError`, with the error."""
    for subject in subjects:
        try:
            find(subject)
        except MissingError as error:
            yield subject, error


def combine(errors: Iterable[MissingError]) -> MissingError | None:
    """Return one error with the messages and hints of ``errors``, without those whose hint came before.

    One command can provide several things: a package has several programs. None if there are no errors.
    """
    by_hint: dict[str | None, MissingError] = {}
    for error in errors:
        by_hint.setdefault(error.hint, error)
    if len(by_hint) < 2:
        return next(iter(by_hint.values()), None)
    first, *others = by_hint.values()
    also = [f"also: {error.message}\n    {error.hint}" for error in others]
    return MissingError(first.message, hint="\n  ".join([first.hint or "", *also]))


def name_all(errors: Sequence[MissingError], *, hint: str) -> MissingError:
    """Return one error that names the subjects of ``errors``, of which there is at least one."""
    if len(errors) == 1:
        return MissingError(errors[0].message, hint=hint)
    *others, last = (error.subject for error in errors)
    return MissingError(f"this machine lacks {', '.join(others)} and {last}", hint=hint)


def reason(error: OSError) -> str:
    """Return the system's error message, for use in a sentence."""
    return (error.strerror or str(error)).lower()
