# SPDX-License-Identifier: MIT
"""Find modules with kinds: those of this package, and plugins from elsewhere.

A plugin package lists its modules in the entry point group ``mptcplab.plugins``; the environment variable
``MPTCPLAB_PLUGINS`` names single files, separated by ``:``.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import TypeVar, get_args

from pydantic import BaseModel

from mptcplab.errors import InputError

VARIABLE = "MPTCPLAB_PLUGINS"
GROUP = "mptcplab.plugins"
Kind = TypeVar("Kind")
Model = TypeVar("Model", bound=BaseModel)


def modules_of(package: ModuleType) -> Iterator[ModuleType]:
    """Import and return the modules of ``package``, in the order of their names, without ``registry``."""
    for found in pkgutil.iter_modules(package.__path__):
        if found.name != "registry":
            yield importlib.import_module(f"{package.__name__}.{found.name}")


@cache
def plugins() -> tuple[ModuleType, ...]:
    """Import and return all plugins. :raises InputError: if a file cannot be imported."""
    named = [Path(name) for name in os.environ.get(VARIABLE, "").split(":") if name]
    return (*(point.load() for point in entry_points(group=GROUP)), *map(_imported, named))


def _imported(file: Path) -> ModuleType:
    name = f"mptcplab_plugin_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None or not file.is_file():
        raise InputError(f"{VARIABLE} names {file}, not a Python file", hint="correct the variable, or unset it")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        hint = f"fix the file, or remove it from {VARIABLE}"
        raise InputError(f"{file} cannot be imported: {error}", hint=hint) from error
    return module


def named_classes(base: type[Kind], package: ModuleType) -> dict[str, type[Kind]]:
    """Return the subclasses of ``base`` that modules of ``package`` and plugins define, by their ``name``.

    A class without a name of its own is a base class of several. :raises InputError: if two have the same name.
    """
    found: dict[str, type[Kind]] = {}
    for module in (*modules_of(package), *plugins()):
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, base) and value.__module__ == module.__name__:
                name = vars(value).get("name")
                if name in found:
                    hint = f"rename it, or remove its file from {VARIABLE}"
                    raise InputError(f"{module.__name__}: {base.__name__} {name} exists already", hint=hint)
                if name is not None:
                    found[name] = value
    return found


def tagged_models(base: type[Model], package: ModuleType, field: str) -> Iterator[tuple[str, type[Model]]]:
    """Yield the models that modules of ``package`` and plugins define, by the words that their ``field`` takes.

    A model without the field is the base of several.
    """
    for module in (*modules_of(package), *plugins()):
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, base) and value.__module__ == module.__name__:
                taken = value.model_fields.get(field)
                yield from ((str(word), value) for word in (get_args(taken.annotation) if taken else ()))
