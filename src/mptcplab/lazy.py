# SPDX-License-Identifier: MIT
"""Libraries, and names of packages, that are imported at their first use: no command waits for what it does not need.

Importing numpy and polars takes longer than most commands. Modules get both from here, as ``np`` and ``pl``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

__all__ = ["Numbers", "lazy_names", "load", "np", "pl"]


class _Library(ModuleType):
    """Stands for a library, and imports it when its first attribute is used."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)
        return value


if not TYPE_CHECKING:
    np, pl, Numbers = _Library("numpy"), _Library("polars"), Any


def load(target: str) -> Any:
    """Return the object that ``target`` names as ``module:name``, and import its module."""
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)


def lazy_names(package: str, modules: Mapping[str, Iterable[str]]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of ``package`` that imports a name at its first use from the module that defines it.

    ``modules`` has the names by module: one below the package, or one with its whole name.
    """
    root = f"{package.partition('.')[0]}."
    homes = {
        name: module if module.startswith(root) else f"{package}.{module}"
        for module, names in modules.items()
        for name in names
    }

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return find
