# SPDX-License-Identifier: MIT
"""Find modules with kinds: this package's, and plugins from elsewhere.

A plugin package lists its modules in the entry point group ``mptcplab.plugins``; the environment variable
``MPTCPLAB_PLUGINS`` names single files, separated by ``:``. All of them are imported whenever kinds are needed. What is
needed rarely, as an engine is, has a group of its own, a :class:`PackagedParts`: one part is imported when it is used.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from mptcplab.errors import InputError, MissingError
from mptcplab.lazy import extra_command

if TYPE_CHECKING:
    from importlib.metadata import SelectableGroups  # since Python 3.12 EntryPoints, which has the same `select`

    from pydantic import BaseModel

VARIABLE = "MPTCPLAB_PLUGINS"
GROUP = "mptcplab.plugins"
Kind = TypeVar("Kind")
Model = TypeVar("Model", bound="BaseModel")


def modules_of(package: ModuleType) -> Iterator[ModuleType]:
    """Import and return the modules of ``package``, in the order of their names, without ``registry``."""
    for name in _names_of(package):
        yield importlib.import_module(f"{package.__name__}.{name}")


@cache
def _names_of(package: ModuleType) -> tuple[str, ...]:
    return tuple(pair.name for pair in pkgutil.iter_modules(package.__path__) if pair.name != "registry")


@cache
def plugins() -> tuple[ModuleType, ...]:
    """Import and return all plugins. :raises InputError: if a file cannot be imported."""
    named = [Path(name) for name in os.environ.get(VARIABLE, "").split(":") if name]
    return (*(point.load() for point in _entry_points().select(group=GROUP)), *map(_import_file, named))


@cache
def _entry_points() -> SelectableGroups:
    """Return the entry points of all installed packages. Finding them takes longer than choosing a group."""
    return entry_points()


@dataclass(frozen=True)
class PackagedParts:
    """Parts of one kind that other packages have: each is an entry point of ``group``, whose name is the part's.

    ``packages`` has the names of the parts in packages of this repository, so that an error can name a package that is
    not installed.
    """

    group: str
    kind: str
    packages: Mapping[str, str]

    @property
    def names(self) -> list[str]:
        """The parts of this repository's packages, installed or not, and of other installed packages."""
        return list(dict.fromkeys([*self.packages, *self._installed]))

    def load(self, name: str) -> Any:
        """Import and return a part with a name of :attr:`names`. :raises MissingError: if its package is missing."""
        point = self._installed.get(name)
        if point is not None:
            return point.load()
        package = self.packages[name]
        message = f"the {self.kind} '{name}' is in the package {package}, which is not installed"
        raise MissingError(message, hint=extra_command(package.removeprefix("mptcplab-")), subject=package)

    @property
    def _installed(self) -> dict[str, EntryPoint]:
        return {point.name: point for point in _entry_points().select(group=self.group)}


def _import_file(file: Path) -> ModuleType:
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
    classes: dict[str, type[Kind]] = {}
    for module in (*modules_of(package), *plugins()):
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, base) and value.__module__ == module.__name__:
                name = vars(value).get("name")
                if name in classes:
                    hint = f"rename it, or remove its file from {VARIABLE}"
                    raise InputError(f"{module.__name__}: {base.__name__} {name} exists already", hint=hint)
                if name is not None:
                    classes[name] = value
    return classes


class TaggedModels(Mapping[str, type[Model]]):
    """The models that modules of ``package`` and plugins define, by the words that their ``field`` takes.

    They are in the order of the words, ``first`` before all others. A model without the field is the base of several.
    One is in the module that its word names, so that a scenario imports the models that it uses, not all.
    """

    def __init__(self, base: type[Model], package: ModuleType, field: str, *, first: str = "") -> None:
        self._base, self._package, self._field, self._first = base, package, field, first

    def __getitem__(self, word: str) -> type[Model]:
        name = word.replace("-", "_")
        # A plugin may replace a model of ours.
        if not plugins() and name in _names_of(self._package):
            models = dict(self._models_in(importlib.import_module(f"{self._package.__name__}.{name}")))
            if word in models:
                return models[word]
        return self._all[word]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    @cached_property
    def _all(self) -> dict[str, type[Model]]:
        modules = (*modules_of(self._package), *plugins())
        pairs = (model for module in modules for model in self._models_in(module))
        return dict(sorted(pairs, key=lambda model: (model[0] != self._first, model[0])))

    def _models_in(self, module: ModuleType) -> Iterator[tuple[str, type[Model]]]:
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, self._base) and value.__module__ == module.__name__:
                taken = value.model_fields.get(self._field)
                yield from ((str(word), value) for word in (get_args(taken.annotation) if taken else ()))
