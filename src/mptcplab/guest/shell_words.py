# SPDX-License-Identifier: MIT
"""Quotes words for a shell as the module ``shlex`` does, which loads regular expressions."""

from __future__ import annotations

_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-")


def join(words: list[str]) -> str:
    """Return ``words`` quoted for a shell."""
    return " ".join(map(_quote, words))


def _quote(word: str) -> str:
    if word and _SAFE.issuperset(word):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"
