# SPDX-License-Identifier: MIT
"""The request and the error of all modules that turn a command into requests of netlink."""

from __future__ import annotations

#: A message of netlink: protocol, kind, flags, body.
Request = tuple[int, int, int, bytes]

MAX32 = (1 << 32) - 1


class UnknownFormError(Exception):
    """The guest does not support this form of a command, or of its output, and must start the program."""


def parse_uint32(text: str) -> int:
    """Return a number of at most 32 bits, written in digits. :raises UnknownFormError: for any other text."""
    if not (text.isascii() and text.isdigit()) or int(text) > MAX32:
        raise UnknownFormError
    return int(text)
