# SPDX-License-Identifier: MIT
"""Keys that have another name in a later version: they work, with a warning, until they are removed.

docs/versions.md states how long. A key that goes is an entry of :data:`RENAMED`; nothing else has to know it.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from mptcplab.scenario.document import Document, join_key, lookup, members
from mptcplab.scenario.place import KeyPath


class DeprecatedKeyWarning(FutureWarning):
    """A scenario uses a key that a later version removes."""


@dataclass(frozen=True)
class RenamedKey:
    """The key at ``pattern``, in which ``*`` is any name, has been called ``name`` since version ``since``."""

    pattern: KeyPath
    name: str
    since: str


#: Every key that is deprecated at present.
RENAMED: tuple[RenamedKey, ...] = ()
_STACK_LEVEL = 2


def rename_keys(document: Document) -> Document:
    """Return ``document`` with the present names of deprecated keys, and warn of each.

    :raises ScenarioError: if a key is set by both of its names.
    """
    for key in RENAMED:
        for path in document.matches(key.pattern[:-1]):
            if key.pattern[-1] in members(lookup(document.tables, path)):
                document = _rename(document, path, key)
    return document


def _rename(document: Document, table: KeyPath, key: RenamedKey) -> Document:
    before, after = (*table, key.pattern[-1]), (*table, key.name)
    place = document.place(before)
    if key.name in members(lookup(document.tables, table)):
        hint = f"keep `{key.name}`"
        raise document.error(before, f"is the former name of `{key.name}`, which is set as well", hint=hint)
    text = f"{place}: {join_key(before)} is deprecated since version {key.since}, and will be removed"
    warnings.warn(f"{text}; use `{key.name}`", DeprecatedKeyWarning, stacklevel=_STACK_LEVEL)
    return document.drop(before).put(after, lookup(document.tables, before), place)
