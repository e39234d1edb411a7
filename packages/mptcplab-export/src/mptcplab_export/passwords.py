# SPDX-License-Identifier: MIT
"""Read the password of gateways from a user's file."""

from __future__ import annotations

import re
from pathlib import Path

from mptcplab.errors import InputError, reason

#: Characters that need no quotes in URLs, JSON and command lines.
_PASSWORD = re.compile(r"[A-Za-z0-9._~-]{8,128}")


def read_password(file: Path) -> str:
    """Return the password in a file. :raises InputError: if it cannot be read, or not all programs accept it."""
    try:
        text = file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        why = reason(error) if isinstance(error, OSError) else "it is not text"
        raise InputError(f"{file} cannot be read: {why}", hint="name a file with one password") from error
    if not _PASSWORD.fullmatch(text):
        hint = f"use 8 to 128 letters, digits, '.', '_', '~' or '-': openssl rand -hex 16 > {file}"
        raise InputError(f"{file} has no password that all programs accept", hint=hint)
    return text
