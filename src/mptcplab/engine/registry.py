# SPDX-License-Identifier: MIT
"""All kinds of engines, by the names for ``--engine``. One is imported when it is chosen.

A plugin (:mod:`mptcplab.plugins`) defines one as ``ENGINE``, with its name as ``ENGINE_NAME``.
"""

from __future__ import annotations

from mptcplab.engine.defaults import DEFAULT_ENGINE
from mptcplab.engine.protocol import EngineKind, WithImages
from mptcplab.errors import InputError
from mptcplab.lazy import load
from mptcplab.plugins import plugins

#: The classes of our engines.
_OWN = {
    DEFAULT_ENGINE: "mptcplab.engine.virtual.engine:Virtual",
    "stock": "mptcplab.engine.stock.engine:Stock",
    "local": "mptcplab.engine.local.engine:Local",
    "ssh": "mptcplab.engine.ssh.engine:Ssh",
}


def engine_names() -> list[str]:
    """Return the names of our engines and of plugins' engines."""
    return list(dict.fromkeys([*_OWN, *_plugin_kinds()]))


def kind_named(name: str) -> EngineKind:
    """Return the kind of engine with a name of :func:`engine_names`."""
    found_kind = _plugin_kinds().get(name)
    kind: EngineKind = load(_OWN[name])() if found_kind is None else found_kind
    return kind


def _plugin_kinds() -> dict[str, EngineKind]:
    return {module.ENGINE_NAME: module.ENGINE for module in plugins() if hasattr(module, "ENGINE")}


def engine_kind(text: str) -> tuple[str, EngineKind]:
    """Return the name and the kind of the engine that a user wrote: ``virtual``, ``stock``, ``stock:6.12``.

    :raises InputError: if there is none, or if it has no images to choose from.
    """
    name, colon, image = text.partition(":")
    names = engine_names()
    if name not in names:
        raise InputError(f"there is no engine '{name}'", hint=f"one of {', '.join(names)}")
    kind = kind_named(name)
    if not colon:
        return name, kind
    if not isinstance(kind, WithImages) or not image:
        raise InputError(f"the engine '{name}' has no kernel image '{image}'", hint="name the engine without a colon")
    return name, kind.with_images(image)
