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

from mptcplab.fields import Misnomers, Part, Whole, idle
from mptcplab.node.registry import NODE_KINDS

MAX_COPIES = 64
_NUMBER = r"[0-9]{1,9}(?:\.[0-9]{1,3})?"
_PLACEHOLDER = re.compile(rf"\{{(?:(?P<more>-?{_NUMBER})\+)?(?:(?P<times>{_NUMBER})\*)?n\}}")
#: The tables whose members can be copied.
NAMED = (*(kind.table for kind in NODE_KINDS.values()), "links", "gateways", "workloads")


class _Count(Part):
    misnomers: ClassVar[Misnomers] = {
        "count": ("number", "n", "times", "copies", "replicas"),
    }

    count: Whole = Field(ge=1, le=MAX_COPIES, description="number of copies", examples=[4])

    @model_validator(mode="after")
    def _has_parts(self) -> _Count:
        """Refuse a table that copies nothing."""
        if not any(getattr(self, key) for key in (*NAMED, "events")):
            raise idle("copies nothing", 'add what exists several times, like [copies.ue.hosts."ue{n}"]')
        return self


_PARTS: dict[str, Any] = {
    table: (dict[str, dict[str, Any]], Field(default={}, description=f"as [{table}]; names contain {{n}}"))
    for table in NAMED
}
#: ``[copies.NAME]``. What it copies is checked where the copies are.
Copies = create_model(
    "Copies", __base__=_Count, **_PARTS, events=(list[dict[str, Any]], Field(default=[], description="as [[events]]"))
)
Copies.misnomers = {kind.table: kind.table_misnomers for kind in NODE_KINDS.values()}


def fill_number(value: Any, number: int) -> Any:
    """Return ``value`` with the number of a copy in its names and texts."""
    if isinstance(value, dict):
        return {str(fill_number(key, number)): fill_number(below, number) for key, below in value.items()}
    if isinstance(value, list):
        return [fill_number(below, number) for below in value]
    if not isinstance(value, str):
        return value
    if (whole := _PLACEHOLDER.fullmatch(value)) is not None:
        exact = _value(whole, number)
        return int(exact) if exact == exact.to_integral_value() else float(exact)
    return _PLACEHOLDER.sub(lambda match: f"{_value(match, number).normalize():f}", value)


def _value(match: re.Match[str], number: int) -> Decimal:
    return Decimal(match["more"] or 0) + Decimal(match["times"] or 1) * number
