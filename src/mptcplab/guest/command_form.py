# SPDX-License-Identifier: MIT
"""The requests and the errors of all commands that the guest executes itself."""

from __future__ import annotations

#: A message of netlink: protocol, kind, flags, body.
Request = tuple[int, int, int, bytes]

MAX32 = (1 << 32) - 1


class OtherFormError(Exception):
    """The guest does not know this form of a command, or of its result: the program has to be started."""


def parse_whole(text: str) -> int:
    """Return a number of at most 32 bits, written in digits. :raises OtherFormError: if it is another."""
    if not (text.isascii() and text.isdigit()) or int(text) > MAX32:
        raise OtherFormError
    return int(text)
