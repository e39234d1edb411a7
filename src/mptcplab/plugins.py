# SPDX-License-Identifier: MIT
"""What others add to the lab: modules with further kinds of workloads, engines and metrics, of this package and of
files elsewhere.

A package gives its modules the entry point group ``mptcplab.plugins``; a single file is named in the environment
variable ``MPTCPLAB_PLUGINS``, several with ``:`` between them.
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

from mptcplab.errors import InputError

VARIABLE = "MPTCPLAB_PLUGINS"
GROUP = "mptcplab.plugins"


def modules_of(package: ModuleType) -> Iterator[ModuleType]:
    """Import and return every module of ``package``, by name."""
    for found in pkgutil.iter_modules(package.__path__):
        if found.name != "registry":
            yield importlib.import_module(f"{package.__name__}.{found.name}")


@cache
def plugins() -> tuple[ModuleType, ...]:
    """Import and return what others have added. :raises InputError: when a file cannot be imported."""
    named = [Path(name) for name in os.environ.get(VARIABLE, "").split(":") if name]
    return (*(point.load() for point in entry_points(group=GROUP)), *map(_imported, named))


def _imported(file: Path) -> ModuleType:
    name = f"mptcplab_plugin_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None or not file.is_file():
        raise InputError(f"{VARIABLE} names {file}, which is no Python file", hint="correct the variable, or unset it")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"{file} cannot be imported: {error}", hint=f"{VARIABLE} names it") from error
    return module
