# SPDX-License-Identifier: MIT
"""Starts programs at fixed addresses: the memory of User-Mode Linux includes a gap that would otherwise be random."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator

_libc = ctypes.CDLL(None, use_errno=True)
_NOT_RANDOM = 0x0040000  # ADDR_NO_RANDOMIZE, include/uapi/linux/personality.h
_QUERY = 0xFFFFFFFF


@contextlib.contextmanager
def fixed_addresses() -> Iterator[None]:
    """Disable address randomisation in programs that this thread starts while inside, if that is allowed.

    Up to Linux 6.12, linux_main() of arch/um adds the gap before the heap, up to 32 MB, to the lab's memory. Limits
    that depend on memory, such as tcp_mem, then differ from boot to boot. Later kernels disable it themselves.
    Containers may forbid it; then these limits vary with 6.12.
    """
    before = _libc.personality(_QUERY)
    changed = before >= 0 and _libc.personality(before | _NOT_RANDOM) >= 0
    try:
        yield
    finally:
        if changed:
            _libc.personality(before)
