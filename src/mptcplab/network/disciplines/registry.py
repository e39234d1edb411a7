# SPDX-License-Identifier: MIT
"""All queueing disciplines by their names, those of :mod:`mptcplab.plugins` included; and their table ``aqm``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_type_hints

from pydantic import Field, create_model

from mptcplab.errors import InputError
from mptcplab.fields import Part
from mptcplab.network import disciplines
from mptcplab.network.disciplines.base import Discipline
from mptcplab.plugins import named_classes

TAIL_DROP = "tail-drop"

#: The one that a queue has by itself stands first.
DISCIPLINES: dict[str, Discipline[Any]] = {
    name: kind()
    for name, kind in sorted(
        named_classes(Discipline, disciplines).items(), key=lambda found: (found[0] != TAIL_DROP, found[0])
    )
}


def _aqm() -> type[Part]:
    """The parameters of all disciplines; one that several have is one key."""
    types: dict[str, Any] = {}
    defaults: dict[str, Any] = {}
    meanings: dict[str, dict[str, list[str]]] = {}
    for name, kind in DISCIPLINES.items():
        hints = get_type_hints(kind.parameters, include_extras=True)
        for key, field in kind.parameters.model_fields.items():
            kept = (types.setdefault(key, hints[key]), defaults.setdefault(key, field.default))
            if kept != (hints[key], field.default):
                hint = "give the parameter another name"
                raise InputError(f"{name} means something else by {key} than another discipline", hint=hint)
            meanings.setdefault(key, {}).setdefault(str(field.description), []).append(name)
    texts = {
        key: "; ".join(f"{text}: {', '.join(names)}" for text, names in found.items())
        for key, found in meanings.items()
    }
    fields: dict[str, Any] = {key: (types[key], Field(default=defaults[key], description=texts[key])) for key in types}
    about = "Parameters of a discipline. What is left out keeps the discipline's own default."
    return create_model("Aqm", __base__=Part, __doc__=about, **fields)


def told(kind: Discipline[Any], aqm: Part) -> Part:
    """Return what ``kind`` is told of the table ``aqm``."""
    parameters: type[Part] = kind.parameters
    return parameters.model_construct(**{key: getattr(aqm, key) for key in parameters.model_fields})


if TYPE_CHECKING:
    Aqm = Part
    DisciplineName = str
else:
    Aqm = _aqm()
    DisciplineName = Literal[tuple(DISCIPLINES)]
