# SPDX-License-Identifier: MIT
"""The JSON Schema of scenario files for editors, made from the models that validate them.

The schema may accept files that :func:`mptcplab.scenario.load.load` refuses, since most rules relate several keys; it
never refuses a file that ``load`` accepts. It uses draft 7, which editors support.

Which keys are required depends on the file: with ``extends`` the base may have them, and a swept key needs no value of
its own. So the models' ``required`` is removed, and :func:`_requirements` adds conditions instead.
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
_NOT_SWEPT = ("sweep", "seed", "repeats", "extends", "without", "title", "question")
#: Swept keys that only ``load`` can check: wildcards, quotes and blanks.
_FREE_KEY = r"[*?\"'\s]"


def scenario_schema() -> Schema:
    """Return the schema."""
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
        "description": "An mptcplab experiment: a network, its hosts' transport, workloads, and a sweep.",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "allOf": list(_requirements()),
        "definitions": definitions,
    }


class _Editors(GenerateJsonSchema):
    """Adapts pydantic's schema: TOML has no null, defaults appear as written in files, and draft 7 names differ."""

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
            return f"0 {dft.probable[0]}"  # zero has no unit of its own: use a common one
        return str(dft) if isinstance(dft, (Quantity, QueueLength)) else super().encode_default(dft)

    def tuple_schema(self, schema: core_schema.TupleSchema) -> Schema:
        made = super().tuple_schema(schema)
        members = made.pop("prefixItems", None)
        return {**made, "items": members[0]} if members else made

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> Schema:
        made = super().tagged_union_schema(schema)
        made.pop("discriminator", None)
        # Without a kind, which an extended file may set, keys may fit several kinds.
        choices = made.pop("oneOf", None)
        return {**made, "anyOf": choices} if choices else made

    def dict_schema(self, schema: core_schema.DictSchema) -> Schema:
        names = self.generate_inner(schema["keys_schema"]) if "keys_schema" in schema else {}
        values = self.generate_inner(schema["values_schema"]) if "values_schema" in schema else {}
        return {"type": "object", "propertyNames": names, "additionalProperties": values}


def _members_of_lists(definitions: Schema) -> set[str]:
    """Return the names of tables in lists. A list is replaced as a whole, so these tables must be complete."""
    texts: set[str] = set()
    for node in _nodes(definitions):
        members = node.get("items")
        if isinstance(members, dict) and "$ref" in members:
            texts.add(members["$ref"].removeprefix(_REFERENCE))
    return texts


def _tidy(definition: Schema, *, title: str, is_member: bool = False) -> None:
    """Clean up descriptions, and drop requirements that another file or the sweep may meet."""
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
            # Draft 7 ignores keywords beside a reference.
            node["allOf"] = [{"$ref": node.pop("$ref")}]


def _nodes(node: Any) -> Iterator[Schema]:
    """Yield every table of a schema, the given one included."""
    if isinstance(node, dict):
        yield node
    for below in list(node.values()) if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _nodes(below)


def _axes(root: Schema) -> Schema:
    """Return the schema of ``[sweep]``: each swept key takes a list of the values that the key itself takes."""
    pointers: dict[str, list[str]] = {}
    for pattern, pointer in _paths(root, root, "", "#"):
        pointers.setdefault(pattern, []).append(pointer)
    patterns: Schema = {"^(zip|name)$": True, _FREE_KEY: _values(True)}
    for pattern, texts in pointers.items():
        choices = [{"$ref": pointer} for pointer in texts]
        patterns[f"^{pattern}$"] = _values(choices[0] if len(choices) == 1 else {"anyOf": choices})
    return {
        "description": "swept keys, and the values of each",
        "type": "object",
        "patternProperties": patterns,
        "additionalProperties": False,
    }


def _values(value: Any) -> Schema:
    return {"type": "array", "minItems": 1, "items": value}


def _paths(root: Schema, node: Schema, prefix: str, pointer: str) -> Iterator[tuple[str, str]]:
    """Yield a regular expression for every key that may be swept, with the place of its value's schema."""
    for place, shape in _resolve_references(root, node, pointer):
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


def _resolve_references(root: Schema, node: Schema, pointer: str) -> Iterator[tuple[str, Schema]]:
    """Yield ``node`` with references followed and unions split, each part with its place."""
    if "$ref" in node:
        name = node["$ref"].removeprefix(_REFERENCE)
        yield from _resolve_references(root, root["definitions"][name], node["$ref"])
        return
    for word in ("allOf", "anyOf", "oneOf"):
        for number, part in enumerate(node.get(word, [])):
            yield from _resolve_references(root, part, f"{pointer}/{word}/{number}")
    yield pointer, node


def _sweep(description: str) -> Schema:
    names = {
        "description": "names of the positions, which stand for these keys in tables and figures",
        "type": "array",
        "items": {"type": "string", "minLength": 1},
        "uniqueItems": True,
    }
    zipped = {
        "allOf": [{"$ref": f"{_REFERENCE}Axes"}],
        "properties": {"name": names},
        "minProperties": 1,
        "not": {"required": ["zip"]},
    }
    return {
        "description": description,
        "allOf": [{"$ref": f"{_REFERENCE}Axes"}],
        "properties": {
            "zip": {
                "description": "tables of keys that vary together; their lists have the same length",
                "type": "array",
                "items": zipped,
            }
        },
        "additionalProperties": {"uniqueItems": True},
    }


def _requirements() -> Iterator[Schema]:
    """Yield the conditions under which keys are required."""
    alone: Schema = {"not": {"required": ["extends"]}}
    certain: Schema = {"if": {"type": "object"}, "then": {"required": ["until"]}}
    yield {"if": alone, "then": {"required": ["title"], "properties": {"repeats": certain}}}
    yield {"dependencies": {"without": ["extends"]}}
    both: Schema = {"not": {"required": list(_GOALS)}}
    yield {"properties": {"workloads": {"additionalProperties": both}}}
    named: Schema = {"minProperties": 1}
    workload: Schema = {
        "required": ["kind", "from", "to"],
        "anyOf": [{"required": [key]} for key in (*_GOALS, "count")],
    }
    # Nodes, links and workloads may all be copies.
    whole: Schema = {"allOf": [alone, {"not": {"required": ["copies"]}}]}
    yield _require_if(whole, "workloads", {**named, "additionalProperties": workload})
    without_preset: Schema = {"allOf": [whole, _no_swept_key("topology"), {"not": {"required": ["topology"]}}]}
    for table in (kind.table for kind in NODE_KINDS.values() if kind.is_required):
        yield _require_if(without_preset, table, named)
    yield _require_if(without_preset, "links", {**named, "additionalProperties": {"required": ["between"]}})
    complete: Schema = {"additionalProperties": {"required": ["program", "entry", "exit"]}}
    unswept = {"allOf": [alone, _no_swept_key("gateways")]}
    yield {"if": unswept, "then": {"properties": {"gateways": complete}}}
    preset: Schema = {"if": {"required": ["topology"]}, "then": {"properties": {"topology": {"required": ["preset"]}}}}
    yield {"if": {"allOf": [alone, _no_swept_key("topology")]}, "then": preset}


_GOALS = ("duration", "size")


def _require_if(condition: Schema, table: str, shape: Schema) -> Schema:
    """Require ``table`` in this ``shape`` under ``condition``, unless a sweep sets keys of it."""
    unswept = {"allOf": [condition, _no_swept_key(table)]}
    return {"if": unswept, "then": {"required": [table], "properties": {table: shape}}}


def _no_swept_key(table: str) -> Schema:
    """Return the condition that no swept key begins with ``table`` or with a wildcard that may match it."""
    names: Schema = {"propertyNames": {"not": {"pattern": rf"^\s*[\"']?({table}|[^.]*[*?])"}}}
    zipped: Schema = {"properties": {"zip": {"items": names}}}
    return {"properties": {"sweep": {"allOf": [names, zipped]}}}
