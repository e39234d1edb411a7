# SPDX-License-Identifier: MIT
"""The scenario file as a JSON Schema, for editors: made from the same models that check it.

The schema may accept what :func:`mptcplab.scenario.load.load` refuses, since most of what makes a network sensible is
between keys; it never refuses what ``load`` accepts. Draft 7, because that is what editors read.

What a file must say depends on the file: with ``extends`` the base may have said it, and a swept key needs no value of
its own. So the models' ``required`` is taken off, and :func:`_needs` says instead when a key is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from mptcplab.node.registry import NODE_KINDS
from mptcplab.scenario.keys import Written
from mptcplab.scenario.reference import MEANINGS
from mptcplab.units import Quantity, QueueLength

Schema = dict[str, Any]

_REFERENCE = "#/definitions/"
#: Keys of the whole file, which no sweep can vary.
_NOT_SWEPT = ("sweep", "seed", "repeats", "extends", "title", "question")
#: Swept keys that only ``load`` understands: wildcards, quotes and blanks.
_FREE_KEY = r"[*?\"'\s]"


def scenario_schema() -> Schema:
    """The whole schema."""
    made = Written.model_json_schema(schema_generator=_Editors, ref_template=f"{_REFERENCE}{{model}}")
    definitions = made.pop("$defs")
    for name, definition in definitions.items():
        _tidy(definition, title=name, is_member=name in _members_of_lists(definitions))
    _tidy(made, title="Written")
    properties = made.pop("properties")
    definitions["Axes"] = _axes({**made, "properties": properties, "definitions": definitions})
    properties["sweep"] = _sweep(properties["sweep"]["description"])
    return {
        "$schema": _Editors.schema_dialect,
        "title": "mptcplab scenario",
        "description": "An experiment of mptcplab: a network, its hosts' transport, workloads, and what is varied.",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "allOf": list(_needs()),
        "definitions": definitions,
    }


class _Editors(GenerateJsonSchema):
    """TOML has no null, people want defaults as they would write them, and draft 7 calls some things differently."""

    schema_dialect = "http://json-schema.org/draft-07/schema#"

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002  pydantic decides the signature
        return False

    def nullable_schema(self, schema: core_schema.NullableSchema) -> Schema:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> Schema:
        made = super().default_schema(schema)
        if made.get("default", "") in (None, "", {}, []):
            made.pop("default", None)
        return made

    def encode_default(self, dft: Any) -> Any:
        if isinstance(dft, Quantity) and not dft:
            return f"0 {dft.probable[0]}"  # nothing is nothing in any unit: name one that people use
        return str(dft) if isinstance(dft, (Quantity, QueueLength)) else super().encode_default(dft)

    def tuple_schema(self, schema: core_schema.TupleSchema) -> Schema:
        made = super().tuple_schema(schema)
        members = made.pop("prefixItems", None)
        return {**made, "items": members[0]} if members else made

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> Schema:
        made = super().tagged_union_schema(schema)
        made.pop("discriminator", None)
        # Without a kind, which the base of an extending file may have, keys may fit several kinds.
        choices = made.pop("oneOf", None)
        return {**made, "anyOf": choices} if choices else made

    def dict_schema(self, schema: core_schema.DictSchema) -> Schema:
        names = self.generate_inner(schema["keys_schema"]) if "keys_schema" in schema else {}
        values = self.generate_inner(schema["values_schema"]) if "values_schema" in schema else {}
        return {"type": "object", "propertyNames": names, "additionalProperties": values}


def _members_of_lists(definitions: Schema) -> set[str]:
    """Tables inside of lists: a list is written whole, so that these have to be complete."""
    found: set[str] = set()
    for node in _nodes(definitions):
        members = node.get("items")
        if isinstance(members, dict) and "$ref" in members:
            found.add(members["$ref"].removeprefix(_REFERENCE))
    return found


def _tidy(definition: Schema, *, title: str, is_member: bool = False) -> None:
    """Words for people, and no key required that another file or the sweep may say."""
    if not is_member:
        definition.pop("required", None)
    for key, field in definition.get("properties", {}).items():
        if key in MEANINGS:
            field.setdefault("description", MEANINGS[key].replace("`", ""))
    for node in _nodes(definition):
        if node.get("title") == title:
            del node["title"]
        if isinstance(node.get("description"), str):
            node["description"] = " ".join(node["description"].replace("``", "`").split())
        if "$ref" in node and len(node) > 1:
            # Draft 7 does not look at what stands beside a reference.
            node["allOf"] = [{"$ref": node.pop("$ref")}]


def _nodes(node: Any) -> Iterator[Schema]:
    """Every table of a schema, the given one included."""
    if isinstance(node, dict):
        yield node
    for below in list(node.values()) if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _nodes(below)


def _axes(root: Schema) -> Schema:
    """Swept keys and their values: each a list of what may stand at the key itself."""
    pointers: dict[str, list[str]] = {}
    for pattern, pointer in _paths(root, root, "", "#"):
        pointers.setdefault(pattern, []).append(pointer)
    patterns: Schema = {"^zip$": True, _FREE_KEY: _values(True)}
    for pattern, found in pointers.items():
        choices = [{"$ref": pointer} for pointer in found]
        patterns[f"^{pattern}$"] = _values(choices[0] if len(choices) == 1 else {"anyOf": choices})
    return {
        "description": "keys that are varied, and the values that each takes",
        "type": "object",
        "patternProperties": patterns,
        "additionalProperties": False,
    }


def _values(value: Any) -> Schema:
    return {"type": "array", "minItems": 1, "items": value}


def _paths(root: Schema, node: Schema, prefix: str, pointer: str) -> Iterator[tuple[str, str]]:
    """A regular expression for every key that may be swept, and where in the schema its value is described."""
    for place, shape in _resolved(root, node, pointer):
        for key, below in shape.get("properties", {}).items():
            if prefix or key not in _NOT_SWEPT:
                here = f"{place}/properties/{key}"
                yield f"{prefix}{re.escape(key)}", here
                yield from _paths(root, below, rf"{prefix}{re.escape(key)}\.", here)
        if isinstance(shape.get("additionalProperties"), dict) and "propertyNames" in shape:
            here = f"{place}/additionalProperties"
            yield rf"{prefix}[^.]+", here
            yield from _paths(root, shape["additionalProperties"], rf"{prefix}[^.]+\.", here)
        if isinstance(shape.get("items"), dict):
            here = f"{place}/items"
            yield rf"{prefix}[0-9]+", here
            yield from _paths(root, shape["items"], rf"{prefix}[0-9]+\.", here)


def _resolved(root: Schema, node: Schema, pointer: str) -> Iterator[tuple[str, Schema]]:
    """``node`` with references followed and unions taken apart, each part with its place."""
    if "$ref" in node:
        name = node["$ref"].removeprefix(_REFERENCE)
        yield from _resolved(root, root["definitions"][name], node["$ref"])
        return
    for word in ("allOf", "anyOf", "oneOf"):
        for number, part in enumerate(node.get(word, [])):
            yield from _resolved(root, part, f"{pointer}/{word}/{number}")
    yield pointer, node


def _sweep(description: str) -> Schema:
    zipped = {"allOf": [{"$ref": f"{_REFERENCE}Axes"}], "minProperties": 1, "not": {"required": ["zip"]}}
    return {
        "description": description,
        "allOf": [{"$ref": f"{_REFERENCE}Axes"}],
        "properties": {
            "zip": {
                "description": "tables of keys that move together; their lists are equally long",
                "type": "array",
                "items": zipped,
            }
        },
        "additionalProperties": {"uniqueItems": True},
    }


def _needs() -> Iterator[Schema]:
    """What a file has to say, and when."""
    alone: Schema = {"not": {"required": ["extends"]}}
    certain: Schema = {"if": {"type": "object"}, "then": {"required": ["until"]}}
    yield {"if": alone, "then": {"required": ["title"], "properties": {"repeats": certain}}}
    both: Schema = {"not": {"required": list(_GOALS)}}
    yield {"properties": {"workloads": {"additionalProperties": both}}}
    named: Schema = {"minProperties": 1}
    workload: Schema = {
        "required": ["kind", "from", "to"],
        "anyOf": [{"required": [key]} for key in (*_GOALS, "count")],
    }
    yield _when(alone, "workloads", {**named, "additionalProperties": workload})
    without_preset: Schema = {"allOf": [alone, _unswept("topology"), {"not": {"required": ["topology"]}}]}
    for table in (kind.table for kind in NODE_KINDS.values() if kind.is_required):
        yield _when(without_preset, table, named)
    yield _when(without_preset, "links", {**named, "additionalProperties": {"required": ["between"]}})
    preset: Schema = {"if": {"required": ["topology"]}, "then": {"properties": {"topology": {"required": ["preset"]}}}}
    yield {"if": {"allOf": [alone, _unswept("topology")]}, "then": preset}


_GOALS = ("duration", "size")


def _when(condition: Schema, table: str, shape: Schema) -> Schema:
    """Under ``condition`` the file has ``table``, and it has this ``shape``, unless a sweep fills it in."""
    unswept = {"allOf": [condition, _unswept(table)]}
    return {"if": unswept, "then": {"required": [table], "properties": {table: shape}}}


def _unswept(table: str) -> Schema:
    """No swept key begins with ``table``, nor with a wildcard that may mean it."""
    names: Schema = {"propertyNames": {"not": {"pattern": rf"^\s*[\"']?({table}|[^.]*[*?])"}}}
    zipped: Schema = {"properties": {"zip": {"items": names}}}
    return {"properties": {"sweep": {"allOf": [names, zipped]}}}
