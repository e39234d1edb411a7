# SPDX-License-Identifier: MIT
"""All queue disciplines by name, with the ones from :mod:`mptcplab.plugins`; and their table ``aqm``."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, Literal

from pydantic import create_model
from pydantic.fields import FieldInfo

from mptcplab.errors import InputError
from mptcplab.fields import Part, misnomers_of
from mptcplab.network import disciplines
from mptcplab.network.disciplines.base import Discipline
from mptcplab.plugins import named_classes

TAIL_DROP = "tail-drop"

#: The default comes first.
DISCIPLINES: dict[str, Discipline[Any]] = {
    name: kind()
    for name, kind in sorted(
        named_classes(Discipline, disciplines).items(), key=lambda pair: (pair[0] != TAIL_DROP, pair[0])
    )
}


def _aqm() -> type[Part]:
    """Return the model of all disciplines' parameters; disciplines may share a key."""
    fields: dict[str, FieldInfo] = {}
    meanings: dict[str, dict[str, list[str]]] = {}
    for name, kind in DISCIPLINES.items():
        for key, field in kind.parameters.model_fields.items():
            kept = fields.setdefault(key, copy(field))
            if (kept.annotation, kept.metadata, kept.default) != (field.annotation, field.metadata, field.default):
                hint = "give the parameter another name"
                raise InputError(f"{name} defines the parameter {key} differently from another discipline", hint=hint)
            meanings.setdefault(key, {}).setdefault(str(field.description), []).append(name)
    for key, field in fields.items():
        field.description = "; ".join(f"{text}: {', '.join(names)}" for text, names in meanings[key].items())
    about = "Parameters of a discipline. Missing ones keep the discipline's own default."
    members: dict[str, Any] = {key: (field.annotation, field) for key, field in fields.items()}
    model = create_model("Aqm", __base__=Part, __doc__=about, **members)
    model.misnomers = misnomers_of(*(kind.parameters for kind in DISCIPLINES.values()))
    return model


if TYPE_CHECKING:
    Aqm = Part
    DisciplineName = str
else:
    Aqm = _aqm()
    DisciplineName = Literal[tuple(DISCIPLINES)]
