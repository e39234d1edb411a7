# SPDX-License-Identifier: MIT
"""All kinds of nodes by name, from the modules beside this one and from :mod:`mptcplab.plugins`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import ModuleType

from mptcplab import node
from mptcplab.errors import LabError
from mptcplab.node.base import NodeBase
from mptcplab.plugins import VARIABLE, modules_of, plugins


def _kinds_in(module: ModuleType) -> Iterator[type[NodeBase]]:
    """Yield the kinds that ``module`` itself defines; a base class of several kinds has no ``kind``."""
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, NodeBase) and value.__module__ == module.__name__:
            yield from (value,) if "kind" in vars(value) else ()


def _load_kinds() -> dict[str, type[NodeBase]]:
    kinds = [kind for module in (*modules_of(node), *plugins()) for kind in _kinds_in(module)]
    # Kinds that every scenario needs come first.
    return {kind.kind: kind for kind in sorted(kinds, key=lambda kind: not kind.is_required)}


#: The class of each kind of node, in the order of tables in a scenario and of nodes in a plan.
NODE_KINDS: Mapping[str, type[NodeBase]] = _load_kinds()


def kind_of(name: str) -> type[NodeBase]:
    """Return the kind called ``name`` in a recording. :raises LabError: if it is unknown."""
    if name not in NODE_KINDS:
        hint = f"name the file of its plugin in {VARIABLE}"
        raise LabError(f"the recording has a node of the unknown kind '{name}'", hint=hint)
    return NODE_KINDS[name]
