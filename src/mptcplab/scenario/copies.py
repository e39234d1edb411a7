# SPDX-License-Identifier: MIT
"""Copies: parts of a network that exist several times, such as terminals with their links, gateways and workloads.

[copies.ue]
count = 8

[copies.ue.hosts."ue{n}"]

[copies.ue.links."wifi{n}"]
between = ["ap", "ue{n}"]

``{n}`` in names and texts is the number of the copy, from 1; ``{8000+n}`` is 8000 more, and ``{-10+2.5*n}`` counts from
-7.5 in steps of 2.5. A value that is nothing else becomes a number. Keys of the file for one copy, like
``[links.wifi3]``, take precedence.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, ClassVar

from pydantic import Field, create_model, model_validator

from mptcplab.errors import Mistake
from mptcplab.fields import Misnomers, Part, Whole, idle
from mptcplab.node.registry import NODE_KINDS
from mptcplab.scenario.document import Document, Table
from mptcplab.scenario.place import KeyPath

MAX_COPIES = 64
_NUMBER = r"[0-9]{1,9}(?:\.[0-9]{1,3})?"
_PLACEHOLDER = re.compile(rf"\{{(?:(?P<more>-?{_NUMBER})\+)?(?:(?P<times>{_NUMBER})\*)?n\}}")
#: The tables whose members can be copied.
_NAMED = (*(kind.table for kind in NODE_KINDS.values()), "links", "gateways", "workloads")


class _Count(Part):
    misnomers: ClassVar[Misnomers] = {
        "count": ("number", "n", "times", "copies", "replicas"),
    }

    count: Whole = Field(ge=1, le=MAX_COPIES, description="number of copies", examples=[4])

    @model_validator(mode="after")
    def _has_parts(self) -> _Count:
        """Refuse a table that copies nothing."""
        if not any(getattr(self, key) for key in (*_NAMED, "events")):
            raise idle("copies nothing", 'add what exists several times, like [copies.ue.hosts."ue{n}"]')
        return self


_PARTS: dict[str, Any] = {
    table: (dict[str, dict[str, Any]], Field(default={}, description=f"as [{table}]; names contain {{n}}"))
    for table in _NAMED
}
#: ``[copies.NAME]``. What it copies is checked where the copies are.
Copies = create_model(
    "Copies", __base__=_Count, **_PARTS, events=(list[dict[str, Any]], Field(default=[], description="as [[events]]"))
)
Copies.misnomers = {kind.table: kind.table_misnomers for kind in NODE_KINDS.values()}


def expand(document: Document, source: KeyPath, number: int, made: set[KeyPath]) -> None:
    """Add one copy of the validated table at ``source`` to a file.

    ``made`` has the names of all copies so far. :raises InputError: for a name without ``{n}``, or one made twice.
    """
    group: Table = document.tables["copies"][source[-1]]
    for table in (table for table in _NAMED if table in group):
        for written, value in group[table].items():
            here = (*source, table, written)
            name = _fill_number(written, number)
            if name == written:
                hint = f'write its number into the name, like "{written}{{n}}"'
                raise document.error(here, "is the name of every copy", hint=hint, kind=Mistake.CONFLICT)
            path: KeyPath = (table, str(name))
            if path in made:
                hint = "give the copies names of their own"
                raise document.error(here, f"is '{name}' in two copies", hint=hint, kind=Mistake.CONFLICT)
            made.add(path)
            _add(document, path, here, _fill_number(value, number))
    events = group.get("events", [])
    for index, event in enumerate(events):
        listed = document.tables.setdefault("events", [])
        if not isinstance(listed, list):
            raise document.error(("events",), "is not a list", hint="write [[events]]", kind=Mistake.TYPE)
        listed.append({})
        document.graft(("events", len(listed) - 1), (*source, "events", index), _fill_number(event, number))


def _add(document: Document, path: KeyPath, source: KeyPath, value: Any) -> None:
    """Add a member that the file may have given keys of its own."""
    own_table = document.tables.setdefault(str(path[0]), {})
    if not isinstance(own_table, dict) or not isinstance(own_table.get(path[1], {}), dict):
        raise document.error(path, "is not a table", hint=f"write [{path[0]}.{path[1]}]", kind=Mistake.TYPE)
    if path[1] in own_table:
        document.inherit(path, value, source)
    else:
        document.graft(path, source, value)


def _fill_number(value: Any, number: int) -> Any:
    """Return ``value`` with the number of a copy in its names and texts."""
    if isinstance(value, dict):
        return {str(_fill_number(key, number)): _fill_number(below, number) for key, below in value.items()}
    if isinstance(value, list):
        return [_fill_number(below, number) for below in value]
    if not isinstance(value, str):
        return value
    if (whole := _PLACEHOLDER.fullmatch(value)) is not None:
        exact = _value(whole, number)
        return int(exact) if exact == exact.to_integral_value() else float(exact)
    return _PLACEHOLDER.sub(lambda match: f"{_value(match, number).normalize():f}", value)


def _value(match: re.Match[str], number: int) -> Decimal:
    return Decimal(match["more"] or 0) + Decimal(match["times"] or 1) * number
