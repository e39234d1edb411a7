# SPDX-License-Identifier: MIT
"""What pydantic found wrong with a scenario, said as one sentence about a line of the file."""

from __future__ import annotations

import difflib
from typing import Any, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from mptcplab.errors import InputError
from mptcplab.scenario.document import Document, lookup
from mptcplab.scenario.place import KeyPath
from mptcplab.scenario.preset import Topology
from mptcplab.scenario.schema import Direction, Flow, Host, Iperf3, Link, Part, Router, Scenario, Transfer, Transport

_KINDS: dict[str, type[Part]] = {"flow": Flow, "iperf3": Iperf3, "transfer": Transfer}
_WORDS = {
    "int_type": "is not a whole number",
    "int_parsing": "is not a whole number",
    "bool_type": "is not true or false",
    "bool_parsing": "is not true or false",
    "string_type": "is not text",
    "dict_type": "is not a table",
    "model_type": "is not a table",
    "model_attributes_type": "is not a table",
    "tuple_type": "is not a list",
}


def first_error(document: Document, error: ValidationError, *, below: KeyPath = ()) -> InputError:
    """The first of ``error``'s findings in the order of the file, as an :class:`InputError`."""
    details = sorted(error.errors(), key=lambda detail: _order(document, detail, below))
    return _explain(document, details[0], below)


def _order(document: Document, detail: ErrorDetails, below: KeyPath) -> tuple[int, int, int]:
    path = _path(document, detail, below)
    # A union reports every member it tried: the finding that lies deepest is about what the user meant.
    return (document.place(path).line, -len(path), detail["type"] == "literal_error")


def _path(document: Document, detail: ErrorDetails, below: KeyPath) -> KeyPath:
    """``loc`` without what pydantic adds: tags of unions, names of validators, ``[key]``."""
    path: KeyPath = below
    for part in detail["loc"]:
        held = lookup(document.tables, path)
        if isinstance(held, dict):
            is_lacking = detail["type"] == "missing" and part is detail["loc"][-1]
            path = (*path, part) if part in held or is_lacking else path
        elif isinstance(held, list) and isinstance(part, int):
            path = (*path, part)
    return path


def _explain(document: Document, detail: ErrorDetails, below: KeyPath) -> InputError:
    path = _path(document, detail, below)
    kind, context = detail["type"], detail.get("ctx", {})
    if kind in ("unit", "scenario"):
        return document.error(path, str(context["text"]), hint=str(context["hint"]))
    if kind == "extra_forbidden":
        return document.error(path, "is not a key here", hint=_nearest(document, path))
    if kind == "missing":
        return document.error(path, "is missing", hint=f"add {path[-1]} = ... to {_table_name(path)}")
    if kind in ("literal_error", "union_tag_invalid"):
        choices = str(context.get("expected") or context.get("expected_tags"))
        path = (*path, "kind") if kind == "union_tag_invalid" else path
        return document.error(path, "is not one of the choices", hint=f"use one of {choices}")
    if kind == "union_tag_not_found":
        return document.error((*path, "kind"), "is missing", hint='add kind = "flow", "iperf3" or "transfer"')
    if kind in ("greater_than_equal", "less_than_equal"):
        bound = context.get("ge", context.get("le"))
        word = "at least" if kind == "greater_than_equal" else "at most"
        return document.error(path, "is out of range", hint=f"use {word} {bound}")
    if kind in ("too_short", "too_long") or (kind == "missing" and isinstance(detail["loc"][-1], int)):
        hint = f"it takes {context.get('min_length', context.get('max_length'))} values"
        return document.error(path, "has the wrong number of values", hint=hint)
    if kind == "string_too_short":
        return document.error(path, "is empty", hint="say what it is about")
    words = _WORDS.get(kind, detail["msg"][:1].lower() + detail["msg"][1:])
    return document.error(path, words, hint="see docs/scenario.md for what this key takes")


def _table_name(path: KeyPath) -> str:
    table = ".".join(str(part) for part in path[:-1] if not isinstance(part, int))
    return f"[{table}]" if table else "the top of the file"


def _nearest(document: Document, path: KeyPath) -> str:
    known = known_keys(document.tables, path[:-1])
    near = difflib.get_close_matches(str(path[-1]), known, n=1, cutoff=0.6)
    return f"did you mean `{near[0]}`?" if near else f"known here: {', '.join(sorted(known))}"


def known_keys(tables: Any, path: KeyPath) -> list[str]:
    """The keys that a user may write in the table at ``path``."""
    if path == ():
        return [*_keys(Scenario), "topology", "transport", "sweep", "seed", "repeats", "extends"]
    if path[0] == "links" and len(path) == 2:
        return [*_keys(Link), *_keys(Direction)]
    if path[0] == "workloads" and len(path) == 2:
        kind = str(lookup(tables, (*path, "kind")))
        return _keys(_KINDS[kind]) if kind in _KINDS else ["kind"]
    fixed: dict[KeyPath, type[BaseModel]] = {("topology",): Topology, ("transport",): Transport}
    if path in fixed:
        return _keys(fixed[path])
    model: Any = {"links": Link, "hosts": Host, "routers": Router}.get(str(path[0]), Scenario)
    rest = path[2:] if path[0] in ("links", "hosts", "routers") else path
    for part in rest:
        model = _below(model, part)
    return _keys(model) if isinstance(model, type) and issubclass(model, BaseModel) else []


def _below(model: Any, part: str | int) -> Any:
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        return model
    annotation = model.model_fields[str(part)].annotation if str(part) in model.model_fields else None
    models = [member for member in _flatten(annotation) if isinstance(member, type) and issubclass(member, BaseModel)]
    return models[0] if models else None


def _flatten(annotation: Any) -> list[Any]:
    members = get_args(annotation)
    return [leaf for member in members for leaf in _flatten(member)] if members else [annotation]


def _keys(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


#: Every key of the language by its table, for documentation and editors.
SCHEMA: TypeAdapter[Scenario] = TypeAdapter(Scenario)
