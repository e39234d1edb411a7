# SPDX-License-Identifier: MIT
"""Turn pydantic's findings about a scenario into one sentence about a line of the file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar, get_args

from annotated_types import Ge, Le
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from mptcplab.errors import Mistake
from mptcplab.fields import Part
from mptcplab.network.registry import VARIABLE_KEYS
from mptcplab.node.registry import NODE_KINDS
from mptcplab.scenario.document import Document, ScenarioError, join_key, lookup, members, show, suggest_name
from mptcplab.scenario.keys import SELECTORS, find_meant_key, known_fields, models_at, table_of_key
from mptcplab.scenario.links import DIRECTIONS
from mptcplab.scenario.place import KeyPath
from mptcplab.scenario.references import check_known
from mptcplab.units import Duration, Quantity, QueueLength, UnitError

Model = TypeVar("Model", bound=BaseModel)
_QUANTITIES = (Quantity, QueueLength)
#: Longer lists of choices are abbreviated to the first few.
MAX_WORDS = 12
_FEW = 3
_OUT_OF_RANGE = ("greater_than_equal", "less_than_equal")
_WRONG_LENGTH = ("missing", "too_short", "too_long")
_NAMED_TABLES = (*(kind.table for kind in NODE_KINDS.values()), "links", "workloads", "gateways")
#: Hints for missing tables: how to begin each.
_FIRST_TABLES = {
    "hosts": 'name a network with [topology] and preset = "disjoint-paths", or add [hosts.NAME] and [links.NAME]',
    "links": 'add [links.NAME] with between = ["client", "server"], or use a [topology] preset',
    "workloads": 'add [workloads.NAME] with kind = "flow", from = "client", to = "server" and duration = "10 s"',
}

#: Misnomers of a delay that are the time there and back.
_ROUND_TRIPS = ("ping", "rtt", "round_trip_time")
#: Words for choices that are called otherwise here, such as kinds of workloads.
_OTHER_CHOICES = {
    "call": "voip",
    "voice": "voip",
    "bulk": "flow",
    "download": "flow",
    "upload": "flow",
    "page": "web",
    "pages": "web",
    "browsing": "web",
    "video": "stream",
    "iperf": "iperf3",
}


def validate(document: Document, model: type[Model], path: KeyPath = (), table: Any = None) -> Model:
    """Return the table at ``path`` of ``document``, or another form of it, as a ``model``.

    :raises ScenarioError: for the first of its mistakes, in the order of the file.
    """
    try:
        return model.model_validate(lookup(document.tables, path) if table is None else table)
    except ValidationError as error:
        details = min(error.errors(), key=lambda detail: _order(document, detail, path))
        raise _explain(document, details, _path(document, details, path)) from error


def _order(document: Document, detail: ErrorDetails, below: KeyPath) -> tuple[bool, int]:
    # A missing key comes last: a misspelling of it is a finding of its own, and explains it.
    is_missing = detail["type"] in ("missing", "union_tag_not_found")
    return is_missing, document.place(_path(document, detail, below)).line


def _path(document: Document, detail: ErrorDetails, below: KeyPath) -> KeyPath:
    """Return ``loc`` without pydantic's additions: tags of unions, names of validators, ``[key]``."""
    path: KeyPath = below
    location = detail["loc"]
    for index, part in enumerate(location):
        held = lookup(document.tables, path)
        if isinstance(held, dict):
            is_lacking = detail["type"] == "missing" and index == len(location) - 1
            path = (*path, part) if part in held or is_lacking else path
        elif isinstance(held, list) and isinstance(part, int) and part < len(held):
            path = (*path, part)
    return path


def _explain(document: Document, detail: ErrorDetails, path: KeyPath) -> ScenarioError:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind in ("unit", "scenario"):
        if "via" in path[-2:] and str(context["text"]).startswith("is not a name for a link"):
            _refuse_via(document, path, str(detail["input"]))
        where = (*path, *context.get("key", ()))
        mistake = context.get("kind", Mistake.QUANTITY)
        return document.error(where, str(context["text"]), hint=str(context["hint"]), kind=mistake)
    if kind == "extra_forbidden":
        return _unknown_key_error(document, path)
    if kind == "missing" and not isinstance(detail["loc"][-1], int):
        return _missing_key_error(document, path)
    if kind == "union_tag_not_found":
        return _missing_kind_error(document, path)
    if kind == "union_tag_invalid":
        selector = SELECTORS[str(path[0])]
        where = (*path, selector.key)
        hint = _choice(document, where, str(context["expected_tags"]))
        return document.error(where, f"is not {selector.noun}", hint=hint, kind=Mistake.CHOICE)
    if kind == "literal_error":
        hint = _choice(document, path, str(context["expected"]))
        return document.error(path, "is not one of the choices", hint=hint, kind=Mistake.CHOICE)
    message, hint = _wrong_value(document, kind, path)
    mistake = Mistake.VALUE if kind in (*_OUT_OF_RANGE, *_WRONG_LENGTH) else Mistake.TYPE
    return document.error(path, message, hint=hint, kind=mistake)


def _unknown_key_error(document: Document, path: KeyPath) -> ScenarioError:
    name = str(path[-1])
    noun = "table" if isinstance(lookup(document.tables, path), dict) else "key"
    known = known_fields(document.tables, path[:-1])
    models = models_at(document.tables, path[:-1])
    meant = find_meant_key(name, models)
    advice = next((model.advice[name] for model in models if issubclass(model, Part) and name in model.advice), None)
    near = suggest_name(name, known)
    belongs = table_of_key(name) if noun == "key" else None
    elsewhere = _keys_called(document.tables, name) if len(path) == 1 and noun == "key" and name not in known else []
    if advice is not None:
        hint = advice
    elif meant is not None:
        hint = _misnomer_hint(document, path, meant)
    elif belongs is not None:
        hint = f"`{name}` belongs {belongs}"
    elif elsewhere:
        hint = f"did you mean {_alternatives([f'`{join_key(texts)}`' for texts in elsewhere[:_FEW]])}?"
    elif near is not None:
        hint = f"did you mean `{near}`?"
    else:
        hint = f"use one of {', '.join(sorted(known))}"
    return document.error(path, f"is not a known {noun}", hint=hint, kind=Mistake.UNKNOWN)


def _misnomer_hint(document: Document, path: KeyPath, key: str) -> str:
    """Return the hint for a misnomer at ``path`` of ``key``."""
    value = lookup(document.tables, path)
    if key == "delay" and str(path[-1]).lower() in _ROUND_TRIPS:
        return f"write delay = {_halve(value)}, one-way: half of the round-trip time"
    if key in DIRECTIONS:
        # In presets of topologies, the server is at the far end.
        below = next(iter(value), "rate") if isinstance(value, dict) else "rate"
        load = "download" if key == "backward" else "upload"
        return f"a direction is called `forward` or `backward`: use {key}.{below}, which is the {load} in a preset"
    return f"did you mean `{key}`?"


def _keys_called(tables: Any, name: str, above: KeyPath = ()) -> list[KeyPath]:
    """Return the keys of values below a table, at any depth, that have this name: users leave out what is above."""
    texts: list[KeyPath] = []
    for key, value in tables.items() if isinstance(tables, dict) else ():
        if isinstance(value, dict):
            texts += _keys_called(value, name, (*above, key))
        elif key == name and above:
            texts.append((*above, key))
    return texts


def _refuse_via(document: Document, path: KeyPath, name: str) -> None:
    """Refuse a text that cannot be a link's name as a link that does not exist. :raises ScenarioError: always."""
    links = document.tables.get("links", {})
    server = lookup(document.tables, (*path[:2], "exit" if path[0] == "gateways" else "to"))
    ends = {key: lookup(links, (key, "between")) for key in members(links)}
    near = [str(key) for key, between in ends.items() if isinstance(between, list) and server in between]
    check_known(document, path, name, list(map(str, ends)), "link", near=near)


def _halve(value: Any) -> str:
    """Return half of a time as TOML."""
    try:
        return show(str(Duration(Duration.parse(value) // 2)))
    except UnitError:
        return "..."


def _missing_key_error(document: Document, path: KeyPath) -> ScenarioError:
    key = str(path[-1])
    if len(path) == 1 and key in _FIRST_TABLES:
        return document.error(path, "is missing", hint=_FIRST_TABLES[key], kind=Mistake.MISSING)
    where = f"to [{join_key(path[:-1])}]" if len(path) > 1 else "at the top of the file"
    if len(path) > 1 and isinstance(path[-2], int):
        where = "to this [[events]]" if path[0] == "events" else "between the braces of this member"
    example = _example(document, path) or f"{key} = ..."
    if path[0] == "events" and key == "type" and VARIABLE_KEYS.keys() & lookup(document.tables, path[:-1]).keys():
        example = 'type = "change"'
    hint = f"add {example} {where}"
    return document.error(path, "is missing", hint=hint, kind=Mistake.MISSING)


def _missing_kind_error(document: Document, path: KeyPath) -> ScenarioError:
    table = lookup(document.tables, path)
    selector = SELECTORS[str(path[0])]
    key = selector.key
    names = table if isinstance(table, dict) else ()
    models = models_at(document.tables, path)
    written = next(
        (name for name in names if find_meant_key(name, models) == key), suggest_name(key, names, cutoff=0.7)
    )
    if written is not None:
        hint, unknown = f"did you mean `{key}`?", (*path, written)
        return document.error(unknown, "is not a known key", hint=hint, kind=Mistake.UNKNOWN)
    first, *others = selector.models
    hint = f'add {key} = "{first}", or another of {", ".join(others)}, to [{join_key(path)}]'
    return document.error((*path, key), "is missing", hint=hint, kind=Mistake.MISSING)


def _choice(document: Document, path: KeyPath, choices: str) -> str:
    """Return a hint from pydantic's list of choices, "'a', 'b' or 'c'"."""
    words = choices.split("'")[1::2]
    written = str(lookup(document.tables, path))
    other = _OTHER_CHOICES.get(written.casefold())
    near = suggest_name(written, words) or (other if other in words else None)
    if near is not None:
        alike = dict.fromkeys([near, *(word for word in words if written.casefold() in word.casefold().split("-"))])
        return f"did you mean {_alternatives([_quote(word) for word in alike])}?"
    quoted = [_quote(word) for word in words]
    if len(words) > MAX_WORDS:
        quoted = [*quoted[:_FEW], "another one from docs/metrics.md"]
    return f"use {_alternatives(quoted)}"


def _quote(word: str) -> str:
    """Return ``word`` in quotes."""
    return f'"{word}"'


def _alternatives(words: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _wrong_value(document: Document, kind: str, path: KeyPath) -> tuple[str, str]:
    """Return message and hint for a value of the wrong type or size."""
    example = _example(document, path)
    instead = f"write for example {example}" if example else "remove it, or see docs/scenario.md"
    value = lookup(document.tables, path)
    if kind in _OUT_OF_RANGE:
        return "is out of range", _bounds(document, path)
    if kind in _WRONG_LENGTH:
        return f"has the wrong number of values, {len(value)}", instead
    if kind.startswith("int"):
        quotes = "write it without quotes: " if isinstance(value, str) else ""
        return "is not a whole number", f"{quotes}{instead}"
    if kind.startswith(("float", "finite")):
        quotes = "write it without quotes: " if isinstance(value, str) else ""
        return "is not a number", f"{quotes}{instead}"
    if kind.startswith("bool"):
        return "is not true or false", f"write {path[-1]} = true or {path[-1]} = false, without quotes"
    if kind.startswith("string"):
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return "is not text", f'put it in quotes: "{value}"' if is_number else instead
    if kind.startswith(("dict", "model")):
        if len(path) == 1 and path[0] in _NAMED_TABLES:
            return "is not a table", f"write [{path[0]}.NAME], with a name of its own, for each"
        return "is not a table", instead if example else f"write [{join_key(path)}] and below it one key on each line"
    if kind.startswith("tuple"):
        return "is not a list", instead
    return "cannot be used here", instead


def _bounds(document: Document, path: KeyPath) -> str:
    field = _field(document, path)
    lower = [bound.ge for bound in field.metadata if isinstance(bound, Ge)] if field else []
    upper = [bound.le for bound in field.metadata if isinstance(bound, Le)] if field else []
    noun = "number" if field is not None and field.annotation is float else "whole number"
    return f"use a {noun} from {lower[0]} to {upper[0]}" if lower and upper else "use another number"


def _example(document: Document, path: KeyPath) -> str | None:
    """Return an example of ``key = value`` for ``path``."""
    key_path = path
    while key_path and isinstance(key_path[-1], int):
        key_path = key_path[:-1]
    field = _field(document, key_path)
    if field is None:
        return None
    examples: list[Any] = field.examples or []
    if not examples:
        kinds = (field.annotation, *get_args(field.annotation))
        examples = [kind.example for kind in kinds if isinstance(kind, type) and issubclass(kind, _QUANTITIES)]
    return f"{key_path[-1]} = {show(examples[0])}" if examples else None


def _field(document: Document, path: KeyPath) -> FieldInfo | None:
    return known_fields(document.tables, path[:-1]).get(str(path[-1])) if path else None
