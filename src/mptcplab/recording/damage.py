# SPDX-License-Identifier: MIT
"""Errors of damaged files: a flipped bit, an incomplete line, another program's output."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mptcplab.errors import LabError
from mptcplab.lazy import pl

#: The errors that readers of JSON and text raise for wrong content.
_OF_TEXT: tuple[type[BaseException], ...] = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    StopIteration,
    MemoryError,
)


def _damage() -> tuple[type[BaseException], ...]:
    """Return the errors that readers of JSON, text and Parquet raise. polars panics on some broken Parquet."""
    return (*_OF_TEXT, pl.exceptions.PolarsError, pl.exceptions.PanicException)


@contextmanager
def report_damage(message: str, *, hint: str) -> Iterator[None]:
    """Turn errors of damaged files inside the block into ``message``. :raises LabError: with the cause in the hint."""
    try:
        yield
    except _damage() as error:
        raise LabError(message, hint=f"{hint} ({_summary(error)})") from error


def _summary(error: BaseException) -> str:
    """Return the error in one shortened line, since some libraries quote the whole input."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__
