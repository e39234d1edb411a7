# SPDX-License-Identifier: MIT
"""Functions of the C library that Python does not have, called through the core of ctypes.

The package ``ctypes`` around this core takes longer to load than all calls of a run.
"""

from __future__ import annotations

import os
from _ctypes import FUNCFLAG_CDECL, FUNCFLAG_USE_ERRNO, Array, CFuncPtr, _SimpleCData, dlopen, dlsym, get_errno

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Int(_SimpleCData):  # type: ignore[type-arg]
    _type_ = "i"


class _Byte(_SimpleCData):  # type: ignore[type-arg]
    _type_ = "c"


class _Function(CFuncPtr):
    _flags_ = FUNCFLAG_CDECL | FUNCFLAG_USE_ERRNO
    _restype_ = _Int


_library = dlopen(None, 0)  # type: ignore[arg-type]  # None is the program itself


def function(name: str) -> Any:
    """Return the function ``name``. It takes integers of up to 32 bits and bytes, and returns an integer."""
    return _Function(dlsym(_library, name))


def make_buffer(size: int) -> Any:
    """Return memory of ``size`` bytes that functions can write to."""
    return type("Buffer", (Array,), {"_length_": size, "_type_": _Byte})()


def check(result: int, action: str) -> None:
    """Raise the error of a function that returned -1. :raises OSError: with ``action`` and the error's message."""
    if result != 0:
        number = get_errno()
        raise OSError(number, f"{action}: {os.strerror(number)}")
