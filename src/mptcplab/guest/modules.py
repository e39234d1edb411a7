# SPDX-License-Identifier: MIT
"""Loads the guest's modules from one file, with one system call per module. A separate file would take a dozen.

The host's side writes that file, see engine/bytecode.py. Python imports all other modules as usual.
"""

from __future__ import annotations

import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    #: By the name of a module: its source file, offset and length of its code, and the folder of a package.
    Index = dict[str, tuple[str, int, int, str]]


class Modules:
    """Finds and loads the modules of ``file``, an open descriptor. Offsets count from ``start``."""

    def __init__(self, file: int, start: int, index: Index) -> None:
        self._file, self._start, self._index = file, start, index
        # Importing the class by its name would load the rest of Python's import system.
        self._spec_class: type[ModuleSpec] = type(sys.__spec__)

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return the spec of a module of the file; None for others. (importlib.abc.MetaPathFinder)"""
        del path, target
        if name not in self._index:
            return None
        source, _, _, folder = self._index[name]
        spec = self._spec_class(name, self, origin=source, is_package=bool(folder))  # type: ignore[arg-type]
        spec.has_location = True
        if folder:
            spec.submodule_search_locations = [folder]
        return spec

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python create the module. (importlib.abc.Loader)"""

    def exec_module(self, module: ModuleType) -> None:
        """Execute the code of a module. (importlib.abc.Loader)"""
        _, offset, length, _ = self._index[module.__name__]
        exec(marshal.loads(os.pread(self._file, length, self._start + offset)), module.__dict__)


def install(file: int, start: int, index: Index) -> None:
    """Let imports look for modules in ``file`` first."""
    sys.meta_path.insert(0, Modules(file, start, index))
