# SPDX-License-Identifier: MIT
"""Starts programs at fixed addresses: the memory of User-Mode Linux includes a gap that would otherwise be random."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator

_libc = ctypes.CDLL(None, use_errno=True)
# A seccomp filter compares all 64 bits with 0xffffffff.
_libc.personality.argtypes = (ctypes.c_ulong,)
_NOT_RANDOM = 0x0040000  # ADDR_NO_RANDOMIZE, include/uapi/linux/personality.h
_QUERY = 0xFFFFFFFF


@contextlib.contextmanager
def fixed_addresses() -> Iterator[bool]:
    """Disable address randomisation in programs that this thread starts while inside; give whether that is allowed.

    linux_main() of arch/um adds the gap before the heap to the lab's memory. Limits that depend on memory, such as
    tcp_rmem, then differ from boot to boot. Linux 6.16 and later disable randomisation themselves, if that is allowed.
    Containers usually forbid it: see :mod:`mptcplab.engine.virtual.heap`.
    """
    before = _libc.personality(_QUERY)
    is_fixed = before >= 0 and _libc.personality(before | _NOT_RANDOM) >= 0
    try:
        yield is_fixed
    finally:
        if is_fixed:
            _libc.personality(before)
