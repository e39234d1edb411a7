# SPDX-License-Identifier: MIT
"""Files that extend others.

``extends = "base.toml"`` inherits the tables of another file: tables are merged key by key; everything else, arrays
included, is replaced by the value of the extending file. A workload that is given another ``kind`` inherits only the
keys that workloads of every kind have. ``without = ["workloads.bulk"]`` leaves keys or tables of the base out.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from mptcplab.errors import Mistake
from mptcplab.scenario.document import (
    Document,
    NamedFiles,
    ScenarioError,
    Table,
    join_key,
    lookup,
    parse,
    split_key,
    suggest_name,
)
from mptcplab.scenario.place import KeyPath, Places

#: The keys that workloads of every kind have.
OF_EVERY_KIND = ("from", "to", "via", "through", "start", "start_spread", "timeout", "congestion_control", "scheduler")
#: The keys that gateways of every program have.
OF_EVERY_PROGRAM = ("entry", "exit", "via", "protocol", "port", "outages")
#: The keys that select the model of a table in these tables, and the keys of all its models.
_SELECTORS = {"workloads": ("kind", OF_EVERY_KIND), "gateways": ("program", OF_EVERY_PROGRAM)}
_MAX_FILES = 20


def read(file: Path, named: NamedFiles | None = None) -> Document:
    """Read ``file`` and all files that it extends. ``named`` notes these, and may confine them to a folder.

    :raises InputError: if a file cannot be read or is not TOML.
    """
    return _read(file, (), named or NamedFiles())


def _read(file: Path, chain: tuple[Path, ...], named: NamedFiles) -> Document:
    """Read one file of a chain; ``chain`` has the real paths of the files that extend ``file``."""
    document = parse(file, rank=-len(chain), named=named)
    base_name = document.tables.get("extends")
    if base_name is None:
        if "without" in document.tables:
            hint = "remove the line, or name the base with `extends`"
            raise document.error(("without",), "does nothing in a file that extends no other", hint=hint)
        return document
    if not isinstance(base_name, str):
        hint = 'write a file name, like extends = "base.toml"'
        raise document.error(("extends",), "is not a file name", hint=hint, kind=Mistake.TYPE)
    base_file = document.locate(("extends",), base_name)
    if not os.path.isfile(base_file):
        hint = f"names are relative to the extending file: looked for {base_file}"
        raise document.error(("extends",), "does not exist", hint=hint, kind=Mistake.FILE)
    chain = (*chain, file.resolve())
    if base_file.resolve() == chain[-1]:
        hint = "name another file, or remove the line"
        raise document.error(("extends",), "is this file itself", hint=hint, kind=Mistake.FILE)
    if base_file.resolve() in chain:
        hint = f"remove one `extends`: {base_file.name} extends this file"
        raise document.error(("extends",), "forms a cycle", hint=hint, kind=Mistake.FILE)
    if len(chain) > _MAX_FILES:
        hint = f"use a chain of at most {_MAX_FILES} files"
        raise document.error(("extends",), "makes the chain of files too long", hint=hint, kind=Mistake.FILE)
    document = document.drop(("extends",))
    base = _leave_out(_read(base_file, chain, named), document)
    return replace(_merge(base, document.drop(("without",))), file=file)


def _merge(base: Document, over: Document, path: KeyPath = ()) -> Document:
    """Return ``base`` with what ``over`` has at ``path`` and below it."""
    for key, value in (lookup(over.tables, path) or {}).items():
        here = (*path, key)
        under = lookup(base.tables, here)
        if isinstance(value, dict) and isinstance(under, dict):
            places = base.places.put(here, replace(base.places.find(here), place=over.place(here)))
            base = replace(base, places=places).drop(*_keys_of_former_kind(here, under, value))
            base = _merge(base, over, here)
        else:
            base = base.copy_from(here, over)
    return base


def _keys_of_former_kind(path: KeyPath, base: Table, over: Table) -> list[KeyPath]:
    """Return the keys of a ``base`` table that only its kind or program has, if the extending file changes that."""
    selector, kept = _SELECTORS.get(str(path[0]), ("", ())) if len(path) == 2 else ("", ())
    if selector not in over or over[selector] == base.get(selector):
        return []
    return [(*path, key) for key in base if key not in kept]


def _leave_out(base: Document, over: Document) -> Document:
    """Return ``base`` without what the list ``without`` of the extending file names; with wildcards."""
    named = over.tables.get("without", [])
    if not isinstance(named, list) or not all(isinstance(entry, str) for entry in named):
        hint = 'write a list of keys, like without = ["workloads.bulk"]'
        raise over.error(("without",), "is not a list of keys", hint=hint, kind=Mistake.TYPE)
    texts = [_matching_keys(base, over, number, text) for number, text in enumerate(named)]
    for path in {path for paths in texts for path in paths}:
        if isinstance(lookup(base.tables, path[:-1]), dict):
            base = base.drop(path)
        base = replace(base, places=base.places.put(path, Places()))
    return base


def _matching_keys(base: Document, over: Document, number: int, text: str) -> list[KeyPath]:
    """Return the keys of ``base`` that an entry of ``without`` names. :raises ScenarioError: if there are none."""
    pattern = split_key(text)
    paths = [path for path in base.matches(pattern) if lookup(base.tables, path) is not None] if pattern else []
    members = [path for path in paths if isinstance(path[-1], int)]
    if members:
        hint = f"leave out all of them, with {join_key(members[0][:-1])}, and write the ones to keep"
        raise over.error(("without", number), "is a member of a list", hint=hint, kind=Mistake.TYPE)
    if paths:
        return paths
    raise _no_match_error(base, over, number, pattern)


def _no_match_error(base: Document, over: Document, number: int, pattern: KeyPath | None) -> ScenarioError:
    if pattern is None:
        hint = "name a key or a table, like workloads.bulk"
        return over.error(("without", number), "is not a key", hint=hint, kind=Mistake.VALUE)
    depth = next(
        n for n in range(len(pattern)) if not any(lookup(base.tables, p) for p in base.matches(pattern[: n + 1]))
    )
    table = lookup(base.tables, pattern[:depth])
    names = list(table) if isinstance(table, dict) else []
    near = suggest_name(str(pattern[depth]), names, cutoff=0.5)
    have = f"`{join_key(pattern[:depth])}` has" if depth else "it has"
    hint = (
        f"did you mean `{join_key((*pattern[:depth], near))}`?" if near else f"{have} {', '.join(names) or 'nothing'}"
    )
    return over.error(("without", number), f"is not in {base.file.name}", hint=hint, kind=Mistake.REFERENCE)
