# SPDX-License-Identifier: MIT
"""Libraries, and names of packages, that are imported at their first use: no command waits for what it does not need.

Importing numpy and polars takes longer than most commands. Modules get both from here, as ``np`` and ``pl``. Libraries
of an extra may be missing: :func:`extra_command` returns the command that gets them.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

__all__ = ["Numbers", "extra_command", "install_command", "lazy_names", "load", "module_environment", "np", "pl"]

_PACKAGE = "mptcplab"
#: An import that only type checkers see: its module, and its names.
_CHECKED_IMPORT = re.compile(r"^    from (\S+) import ([\w, ]+|\([^)]+\))$", re.MULTILINE)


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


def lazy_names(package: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of ``package`` that imports a name at its first use from the module that defines it.

    The package's file imports these names below ``if TYPE_CHECKING:``.
    """

    @cache
    def homes() -> dict[str, str]:
        text = Path(sys.modules[package].__file__ or "").read_text()
        return {name: module for module, names in _CHECKED_IMPORT.findall(text) for name in re.findall(r"\w+", names)}

    def find(name: str) -> Any:
        if name not in homes():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes()[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return find


def module_environment() -> dict[str, str]:
    """Return the environment of a process that finds the modules where this one found them.

    Debian's package has them in a folder of its own, which only its command knows.
    """
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def extra_command(extra: str) -> str:
    """Return the command that installs what an extra of mptcplab needs.

    It names the libraries and not mptcplab: mptcplab may have come as a file, and no index may have it. Packages of
    this repository come from the checkout, if there is one.
    """
    from importlib import metadata

    from packaging.requirements import Requirement

    try:
        required = [Requirement(text) for text in metadata.requires(_PACKAGE) or []]
    except metadata.PackageNotFoundError:
        return install_command(["--editable", f".[{extra}]", *_checkout_of(f"{_PACKAGE}-{extra}")])
    libraries = (
        _checkout_of(requirement.name) or [f"{requirement.name}{requirement.specifier}"]
        for requirement in required
        if requirement.marker and f'extra == "{extra}"' in str(requirement.marker)
    )
    return install_command([word for words in libraries for word in words])


def _checkout_of(package: str) -> list[str]:
    """Return the words that make pip install a package of this checkout; none if there is no such folder."""
    from pathlib import Path

    folder = Path(__file__).resolve().parents[2] / "packages" / package
    return ["--editable", str(folder)] if (folder / "pyproject.toml").is_file() else []


def install_command(packages: Sequence[str]) -> str:
    """Return the command that installs packages for the Python that runs mptcplab.

    A system's Python that pip must not change (PEP 668) gets none: mptcplab is then installed in an environment first.
    """
    python = sys.executable
    if find_spec("pip") is None and not _is_externally_managed():
        return shlex.join(["uv", "pip", "install", "--python", python, *packages])
    command = shlex.join([python, "-m", "pip", "install", *packages])
    if _is_externally_managed():
        return f"in an environment that has mptcplab (python3 -m venv FOLDER): {command.replace(python, 'python', 1)}"
    return command


def _is_externally_managed() -> bool:
    """Return whether another program than pip looks after the packages of this Python."""
    import sysconfig

    is_environment = sys.prefix != sys.base_prefix
    return not is_environment and Path(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED").is_file()
