# SPDX-License-Identifier: MIT
"""Numbers and truth values of scenarios and studies are written as such: text is not taken for them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import pytest
from pydantic import BaseModel, BeforeValidator, Strict

import mptcplab

_CONVERTED = (bool, int, float)
"""The types for which pydantic takes text, such as "yes" and "2", unless they are strict."""


def _models(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for model in base.__subclasses__():
        yield model
        yield from _models(model)


def _is_lax(annotation: Any, metadata: tuple[Any, ...] = ()) -> bool:
    """Whether a type somewhere in ``annotation`` would convert text.

    Our validators that run before the conversion have checks of their own: weights and sysctls have such validators.
    """
    if annotation in _CONVERTED:
        return not any(isinstance(item, (Strict, BeforeValidator)) for item in metadata)
    parts = get_args(annotation)
    if get_origin(annotation) is Annotated:
        return _is_lax(parts[0], (*metadata, *parts[1:]))
    # What is said of a union holds for its members, and what is said of a list does not hold for its items.
    inherited = metadata if get_origin(annotation) in (Union, UnionType) else ()
    return any(_is_lax(part, inherited) for part in parts)


@pytest.mark.parametrize(
    ("annotation", "lax"),
    [(bool, True), (float | None, True), (tuple[int, ...], True), (Annotated[bool, Strict()] | None, False)],
)
def test_what_is_lax(annotation: Any, lax: bool) -> None:
    assert _is_lax(annotation) is lax


def test_no_key_converts_text() -> None:
    for module in pkgutil.iter_modules(mptcplab.__path__):
        if module.name in ("scenario", "workload", "node", "network", "gateway", "study"):
            package = importlib.import_module(f"mptcplab.{module.name}")
            for below in pkgutil.walk_packages(package.__path__, f"mptcplab.{module.name}."):
                importlib.import_module(below.name)
    models = [model for model in _models(BaseModel) if model.__module__.startswith("mptcplab.")]
    assert len(models) > 30
    lax = {
        f"{model.__module__}.{model.__name__}.{name}"
        for model in models
        for name, field in model.model_fields.items()
        if _is_lax(field.annotation, tuple(field.metadata))
    }
    assert not lax, "use Boolean, Whole or Number of mptcplab.fields"
