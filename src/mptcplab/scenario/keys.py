# SPDX-License-Identifier: MIT
"""The keys that each table of a scenario file may have, for hints, documentation and editors.

A file has more keys than a :class:`Scenario`: presets, transport settings for all nodes, keys of a link that apply to
both directions, and keys of the file as a whole.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, TypeGuard, Union, get_args, get_origin

from pydantic import BaseModel, Field, create_model
from pydantic.fields import FieldInfo

from mptcplab.fields import Line, LinkName, Misnomers, TaggedTable, Whole, misnomers_of
from mptcplab.gateway.base import Outage
from mptcplab.gateway.registry import PROGRAMS
from mptcplab.node.base import NodeBase
from mptcplab.node.placed import WaypointKeys
from mptcplab.node.registry import NODE_KINDS
from mptcplab.node.transport import Endpoint, Limits, Transport
from mptcplab.scenario.copies import Copies
from mptcplab.scenario.document import is_wildcard, lookup, suggest_name
from mptcplab.scenario.events import Event
from mptcplab.scenario.links import DirectionSettings, Link
from mptcplab.scenario.place import KeyPath
from mptcplab.scenario.presets import LinkPresetName, Topology
from mptcplab.scenario.record import MAX_REPEATS, Capture, Record, Repeats
from mptcplab.scenario.schema import Scenario
from mptcplab.scenario.steering import Steering
from mptcplab.scenario.wifi import Radio, Wifi
from mptcplab.workload.registry import KINDS


class WrittenLink(Link, DirectionSettings):
    """A link as written in a file, which may have keys of a direction beside ``forward`` and ``backward``."""

    misnomers: ClassVar[Misnomers] = {
        "preset": ("profile", "type", "kind", "technology", "template"),
    }

    preset: LinkPresetName | None = Field(
        default=None,
        description="measured rates and delays of an access link, by name; forward is the uplink",
        examples=["lte-2014"],
    )


class _WrittenNames(Scenario):
    """The misnomers of the keys that only a file has."""

    misnomers: ClassVar[Misnomers] = {
        "topology": ("network", "net", "graph"),
        "copies": ("copy", "replicas", "groups"),
        "transport": ("mptcp", "tcp", "stack", "sockets"),
        "bpf": ("ebpf", "bpf_programs"),
        "sweep": ("parameters", "params", "variables", "vary", "matrix", "grid"),
        "seed": ("random_seed", "rng_seed", "seeds"),
        "repeats": ("repetitions", "replications", "runs", "iterations", "trials", "rounds"),
        "extends": ("include", "base", "inherits", "parent", "imports"),
        "without": ("exclude", "except", "omit", "remove"),
    }


#: A scenario file, for looking up keys; validation uses :class:`Scenario`, after presets and defaults are expanded.
Written = create_model(
    "Written",
    __base__=_WrittenNames,
    links=(dict[LinkName, WrittenLink], Field()),
    topology=(Topology | None, Field(default=None, description="a network by name")),
    copies=(dict[str, Copies], Field(default={}, description="parts of the network that exist several times")),
    transport=(
        Transport | None,
        Field(default=None, description="for every host, and every router that has a transport"),
    ),
    bpf=(
        list[Line],
        Field(
            default=[],
            description="your own eBPF programs, files in C for engine `stock`, and the headers that they include",
            examples=[["my-control.bpf.c"]],
        ),
    ),
    sweep=(dict[str, Any], Field(default={}, description="keys, and the values of each")),
    seed=(Whole, Field(default=1, ge=0, le=10**18, description="seed of the first repeat", examples=[1])),
    repeats=(
        Annotated[Whole, Field(ge=1, le=MAX_REPEATS)] | Repeats,
        Field(default=1, description="runs per point, with consecutive seeds", examples=[10, {"until": "2 %"}]),
    ),
    extends=(str, Field(default="", description="a file whose keys apply unless this one sets them")),
    without=(
        list[str],
        Field(default=[], description="keys and tables of that file to leave out", examples=[["workloads.bulk"]]),
    ),
)


def parts_of(kind: type[NodeBase]) -> dict[str, type[BaseModel]]:
    """Return the tables of a node of this kind, except its transport, which several kinds share."""
    return {key: part for key, part in tables_of(kind).items() if part is not Transport}


def fields_of(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of ``model`` by their names in files."""
    return {field.alias or name: field for name, field in model.model_fields.items() if not field.exclude}


def tables_of(model: type[BaseModel]) -> dict[str, type[BaseModel]]:
    """Return the tables among the keys of ``model``."""
    leaves = {key: union_members(field.annotation) for key, field in fields_of(model).items()}
    return {key: leaf for key, of_key in leaves.items() for leaf in of_key if _is_model(leaf)}


def union_members(annotation: Any) -> list[Any]:
    """Return the members of a union, or the type itself."""
    if get_origin(annotation) is Annotated:
        inner, *more = get_args(annotation)
        tagged = next((entry for entry in more if isinstance(entry, TaggedTable)), None)
        return union_members(inner) if tagged is None else list(tagged.models.values())
    if get_origin(annotation) in (Union, types.UnionType):
        return [leaf for member in get_args(annotation) for leaf in union_members(member)]
    return [annotation]


def _is_model(annotation: Any) -> TypeGuard[type[BaseModel]]:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _tables_of_node_keys() -> Iterator[tuple[type[BaseModel], str]]:
    for kind in NODE_KINDS.values():
        yield kind, f"in [{kind.table}.NAME]"
        yield from ((part, f"in [{kind.table}.NAME.{key}]") for key, part in parts_of(kind).items())


@cache
def _tables_of_keys() -> tuple[tuple[type[BaseModel], str], ...]:
    """Return the table that each misplaced key belongs to; the first match counts."""
    sharing = (kind.table for kind in NODE_KINDS.values() if kind.shares_transport)
    transports = " or ".join(f"[{table}.NAME.transport]" for table in sharing)
    return (
        (Written, "at the top of the file, above all tables"),
        (WrittenLink, "in [links.NAME]"),
        (Transport, f"in [transport], {transports}"),
        (Limits, "in [transport.limits]"),
        (Topology, "in [topology]"),
        (Copies, "in [copies.NAME]"),
        (Record, "in [record]"),
        *((KINDS[name], f'in [workloads.NAME] with kind = "{name}"') for name in ("flow", "iperf3")),
        (Endpoint, f"in an endpoint of {transports}"),
        (Capture, "in a capture of [record]"),
        *_tables_of_node_keys(),
        *((model, f"in [links.NAME.{key}]") for key, model in tables_of(DirectionSettings).items()),
        (Event, "in [[events]]"),
        *((model, f'in [gateways.NAME] with program = "{name}"') for name, model in PROGRAMS.items()),
        (Outage, "in outages of [gateways.NAME]"),
        (Repeats, "in repeats = { ... }"),
        (Radio, "in [links.NAME.radio] of a link with radios"),
        (WaypointKeys, "in a waypoint of a node with radios"),
        (Steering, "in [steering]"),
        (Wifi, "in [wifi]"),
    )


@dataclass(frozen=True)
class Selector:
    """The key that selects the model of a table, what its value is called, and the models by its values."""

    key: str
    noun: str
    models: Mapping[str, type[BaseModel]]


#: By the outer table.
SELECTORS = {
    "workloads": Selector("kind", "a kind of workload", KINDS),
    "gateways": Selector("program", "a program of gateways", PROGRAMS),
}


def known_fields(tables: Any, path: KeyPath) -> dict[str, FieldInfo]:
    """Return the keys that the table at ``path`` of a file may have; none where names are free."""
    return {key: field for model in models_at(tables, path) for key, field in fields_of(model).items()}


def models_at(tables: Any, path: KeyPath) -> list[type[BaseModel]]:
    """Return the models that the table at ``path`` of a file may have: several if its kind is not known."""
    leaves: list[Any] = [Written]
    for index, part in enumerate(path):
        leaves = [leaf for annotation in leaves for leaf in _members(annotation, part)]
        for selector in SELECTORS.values():
            chosen = lookup(tables, (*path[: index + 1], selector.key))
            if isinstance(chosen, str) and selector.models.get(chosen) in leaves:
                leaves = [selector.models[chosen]]
    return [leaf for leaf in leaves if _is_model(leaf)]


@cache
def meanings_of(model: type[BaseModel]) -> dict[str, str]:
    """Return the misnomers of the keys of ``model``, each with its key."""
    known = fields_of(model)
    return {name: key for key, names in misnomers_of(model).items() if key in known for name in names}


def find_meant_key(name: str, models: Sequence[type[BaseModel]]) -> str | None:
    """Return the key of one of the ``models`` that ``name``, perhaps misspelled, is a misnomer of."""
    known = {key for model in models for key in fields_of(model)}
    meanings = {
        name: key for model in reversed(models) for name, key in meanings_of(model).items() if name not in known
    }
    plain = name.casefold().replace("-", "_")
    if plain in meanings:
        return meanings[plain]
    alike = suggest_name(plain, {*meanings, *known}, cutoff=0.8)
    return meanings.get(alike) if alike is not None else None


def table_of_key(key: str) -> str | None:
    """Return the table that has ``key``, as "in [table]"; None if none has it."""
    table = next((table for model, table in _tables_of_keys() if key in fields_of(model)), None)
    if table is not None:
        return table
    kinds = [f'"{name}"' for name, kind in KINDS.items() if key in fields_of(kind)]
    return f"in [workloads.NAME] with kind = {' or '.join(kinds)}" if kinds else None


def _members(annotation: Any, part: str | int) -> list[Any]:
    """Return the types that ``part`` of a value may have, with unions split."""
    if _is_model(annotation):
        field = fields_of(annotation).get(str(part))
        return union_members(field.annotation) if field is not None else []
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is dict:
        return union_members(arguments[1])
    if origin is tuple and (isinstance(part, int) or is_wildcard(part)):
        return union_members(arguments[0])
    return []
