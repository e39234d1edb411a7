# SPDX-License-Identifier: MIT
"""The reference of all keys of a scenario file, generated from the models that validate them.

``python -m mptcplab.scenario.reference`` prints it; ``docs/scenario.md`` contains it between two markers, and a test
checks that it is up to date. ``--write FILE`` updates it.
"""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from mptcplab.errors import InputError
from mptcplab.fields import OneOf
from mptcplab.gateway.base import GatewayBase, Outage
from mptcplab.gateway.registry import PROGRAMS
from mptcplab.network.behaviour import EffectCounter
from mptcplab.network.disciplines.registry import DISCIPLINES
from mptcplab.network.registry import BEHAVIOURS
from mptcplab.node.base import NodeBase
from mptcplab.node.placed import WaypointKeys
from mptcplab.node.registry import NODE_KINDS
from mptcplab.node.transport import Endpoint, Limits, Transport
from mptcplab.plain_tables import markdown_table
from mptcplab.scenario.copies import Copies
from mptcplab.scenario.events import Event
from mptcplab.scenario.explain import MAX_WORDS
from mptcplab.scenario.keys import Written, WrittenLink, fields_of, parts_of, tables_of
from mptcplab.scenario.links import DirectionSettings
from mptcplab.scenario.presets import Topology
from mptcplab.scenario.record import Capture, Record, Repeats
from mptcplab.scenario.steering import Steering
from mptcplab.scenario.wifi import Radio, Wifi
from mptcplab.units import Quantity, QueueLength
from mptcplab.workload.base import WorkloadBase
from mptcplab.workload.registry import KINDS

BEGIN = "<!-- begin of the reference: made by python -m mptcplab.scenario.reference -->"
END = "<!-- end of the reference -->"
_WORDS = {str: "text", int: "whole number", float: "number", bool: "true or false"}
#: Tables with a section of their own.
_TABLES = (
    *(kind.table for kind in NODE_KINDS.values()),
    *(
        "links",
        "workloads",
        "gateways",
        "events",
        "record",
        "wifi",
        "steering",
        "topology",
        "copies",
        "transport",
        "sweep",
    ),
)
#: Descriptions of keys whose model has none.
MEANINGS = {
    "family": "the address family of all links, for addresses that the lab assigns and for your own",
    "preset": "the network",
    "between": "the two nodes that the link joins",
    "reverse": "the host `to` sends: a download",
    "size": "amount of data to send",
}


def reference() -> str:
    """Return the reference in Markdown."""
    return "\n\n".join(_sections())


def _sections() -> Iterator[str]:
    yield _section("At the top of the file", Written, leave_out=_TABLES)
    yield _section("`repeats` as a table", Repeats)
    yield _section("`[topology]`", Topology)
    yield _section("`[copies.NAME]`", Copies)
    places = ["transport", *(f"{kind.table}.NAME.transport" for kind in NODE_KINDS.values() if kind.shares_transport)]
    yield _section(", ".join(f"`[{place}]`" for place in places), Transport, leave_out=("limits",))
    yield _section(", ".join(f"`[{place}.limits]`" for place in places), Limits)
    yield _section("A member of `endpoints`", Endpoint)
    for kind in NODE_KINDS.values():
        yield from _sections_of_node(kind)
    yield _section("`[links.NAME]`", WrittenLink, leave_out=("forward", "backward", *fields_of(DirectionSettings)))
    yield _section("`[links.NAME]`, `[links.NAME.forward]`, `[links.NAME.backward]`", DirectionSettings)
    for key, table in tables_of(DirectionSettings).items():
        yield _section(f"`{key}` of a link", table)
    yield _behaviours()
    yield _section("`[workloads.NAME]`, keys of every kind", WorkloadBase)
    shared = ("kind", *fields_of(WorkloadBase))
    for name, model in KINDS.items():
        yield _section(f'`[workloads.NAME]` with `kind = "{name}"`', model, leave_out=shared)
    yield _section("`[gateways.NAME]`, keys of every program", GatewayBase)
    shared = ("program", *fields_of(GatewayBase))
    for name, gateway in PROGRAMS.items():
        yield _section(f'`[gateways.NAME]` with `program = "{name}"`', gateway, leave_out=shared)
    yield _section("A member of `outages` of a gateway", Outage)
    yield _section("A member of `events`: `[[events]]`", Event)
    yield _section("`[record]`", Record)
    yield _section("A member of `captures`", Capture)
    yield _section("`[wifi]`", Wifi)
    yield _section("`[steering]`", Steering)
    yield _section("A member of `waypoints` of a node", WaypointKeys)
    yield _section("`radio` of a link", Radio)


def _sections_of_node(kind: type[NodeBase]) -> Iterator[str]:
    parts = parts_of(kind)
    elsewhere = (*parts, "transport")
    if set(fields_of(kind)) - set(elsewhere):
        yield _section(f"`[{kind.table}.NAME]`", kind, leave_out=elsewhere)
    for key, part in parts.items():
        yield _section(f"`[{kind.table}.NAME.{key}]`", part)


def _section(title: str, model: type[BaseModel], *, leave_out: tuple[str, ...] = ()) -> str:
    fields = {key: field for key, field in fields_of(model).items() if key not in leave_out}
    rows = (
        (f"`{key}`", describe_values(field), _default(field), describe_key(key, field)) for key, field in fields.items()
    )
    return "\n".join((f"### {title}", "", markdown_table(("key", "takes", "default", "meaning"), rows)))


def _behaviours() -> str:
    """Return the table of link behaviours: the keys that events and traces change, and their counters."""
    rows = []
    for behaviour in BEHAVIOURS:
        columns = _words(name for variable in behaviour.variable.values() for name in variable.columns)
        rows.append((behaviour.name, _words(behaviour.variable), columns, _counters(behaviour.counters)))
    rows += [(name, "", "", _counters(kind.counters)) for name, kind in DISCIPLINES.items() if kind.counters]
    headings = ("behaviour", "keys of events", "columns of traces", "counters in `tc.json`")
    return "\n".join(("### Link behaviours: changes and counters", "", markdown_table(headings, rows)))


def _counters(counters: Iterable[EffectCounter]) -> str:
    return ", ".join(f"`{counter.key}` of `{counter.kind}`: {counter.meaning}" for counter in counters)


def _words(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def describe_values(field: FieldInfo) -> str:
    """Return the values that a key takes, in words."""
    words = list(dict.fromkeys(_kinds(_with_choices(field))))
    lower = next((item.ge for item in field.metadata if hasattr(item, "ge")), None)
    upper = next((item.le for item in field.metadata if hasattr(item, "le")), None)
    if lower is not None and upper is not None:
        words[0] += f", {lower} to {upper}"
    return " or ".join(words)


def _with_choices(field: FieldInfo) -> Any:
    """Return the type of a field, with the words that it can be."""
    choices = next((item for item in field.metadata if isinstance(item, OneOf)), None)
    return field.annotation if choices is None else Literal[tuple(choices.words())]


def _kinds(annotation: Any) -> Iterator[str]:
    """Yield a word for each member of a union; nothing for None, which TOML lacks."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from _kinds(arguments[0])
    elif origin in (Union, types.UnionType):
        for member in arguments:
            yield from _kinds(member)
    elif origin is Literal and len(arguments) > MAX_WORDS:
        yield "one of many words"
    elif origin is Literal:
        yield from (f'`"{value}"`' for value in arguments)
    elif origin is tuple:
        yield _describe_list(arguments)
    elif origin is dict:
        yield "table"
    elif annotation is QueueLength:
        yield "queue length"
    elif isinstance(annotation, type) and issubclass(annotation, Quantity):
        yield annotation.noun
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield "table"
    elif annotation in _WORDS:
        yield _WORDS[annotation]


def _describe_list(members: tuple[Any, ...]) -> str:
    kinds = " or ".join(dict.fromkeys(_kinds(members[0])))
    return f"list of {kinds}" if members[-1] is Ellipsis else f"list of {len(members)}: {kinds}"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if value is None or value in ("", {}) or isinstance(value, BaseModel):
        return ""
    return f"`{_toml(value)}`"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Quantity):
        # Zero has no unit of its own: use a common one.
        return f'"{value if value else f"0 {value.probable[0]}"}"'
    if isinstance(value, (QueueLength, str)):
        return f'"{value}"'
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return str(value)


def describe_key(key: str, field: FieldInfo) -> str:
    """Return the description of a key, for a table cell."""
    return field.description or MEANINGS.get(key, "")


def replace(document: str) -> str:
    """Return ``document`` with the reference between its markers. :raises InputError: if it has no markers."""
    pattern = re.compile(f"{re.escape(BEGIN)}\n.*?{re.escape(END)}", re.DOTALL)
    match = pattern.search(document)
    if match is None:
        raise InputError("the document has no markers for the reference", hint=f"add the lines {BEGIN} and {END}")
    return f"{document[: match.start()]}{BEGIN}\n\n{reference()}\n\n{END}{document[match.end() :]}"


def main(arguments: list[str]) -> None:
    """Print the reference, or write it into the file after ``--write``."""
    if arguments[:1] == ["--write"] and len(arguments) == 2:
        file = Path(arguments[1])
        file.write_text(replace(file.read_text()))
    else:
        print(reference())


if __name__ == "__main__":
    main(sys.argv[1:])
