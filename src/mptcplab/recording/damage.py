# SPDX-License-Identifier: MIT
"""Files that are not what they should be: a flipped bit, half a line, another program's output."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from polars.exceptions import PanicException, PolarsError

from mptcplab.errors import LabError

#: What readers of JSON, text and Parquet raise when the content is wrong. polars panics over some broken Parquet.
DAMAGE: tuple[type[BaseException], ...] = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    StopIteration,
    MemoryError,
    PolarsError,
    PanicException,
)


@contextmanager
def reporting_damage(message: str, *, hint: str) -> Iterator[None]:
    """Tell damage that shows inside as ``message``. :raises LabError: with what was found in the hint."""
    try:
        yield
    except DAMAGE as error:
        raise LabError(message, hint=f"{hint} ({_in_short(error)})") from error


def _in_short(error: BaseException) -> str:
    """The first line, shortened: some libraries quote all that they could not read."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__
