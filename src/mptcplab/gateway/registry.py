# SPDX-License-Identifier: MIT
"""All programs of gateways by name: those of the modules beside this one and of :mod:`mptcplab.plugins`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import or_
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, get_args

from pydantic import Field

from mptcplab import gateway
from mptcplab.gateway.base import GatewayBase
from mptcplab.plugins import modules_of, plugins


def _programs_in(module: ModuleType) -> Iterator[tuple[str, type[GatewayBase]]]:
    """Yield the programs that ``module`` itself defines; a base class of several has no ``program``."""
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, GatewayBase) and value.__module__ == module.__name__:
            field = value.model_fields.get("program")
            yield from ((str(name), value) for name in (get_args(field.annotation) if field else ()))


def _all_programs() -> dict[str, type[GatewayBase]]:
    return dict(sorted(found for module in (*modules_of(gateway), *plugins()) for found in _programs_in(module)))


#: The class of each program.
PROGRAMS = _all_programs()

if TYPE_CHECKING:
    Gateway = GatewayBase
else:
    Gateway = Annotated[reduce(or_, PROGRAMS.values()), Field(discriminator="program")]
