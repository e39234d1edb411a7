# SPDX-License-Identifier: MIT
"""All kinds of engines, by the names for ``--engine``.

A plugin (:mod:`mptcplab.plugins`) defines one as ``ENGINE``, with its name as ``ENGINE_NAME``.
"""

from __future__ import annotations

from mptcplab.engine.local.engine import Local
from mptcplab.engine.protocol import EngineKind, WithImages
from mptcplab.engine.ssh.engine import Ssh
from mptcplab.engine.stock.engine import Stock
from mptcplab.engine.virtual.engine import Virtual
from mptcplab.errors import InputError
from mptcplab.plugins import plugins

DEFAULT_ENGINE = "virtual"


def engine_kinds() -> dict[str, EngineKind]:
    """Return our engines and those of plugins by name."""
    own: dict[str, EngineKind] = {DEFAULT_ENGINE: Virtual(), "stock": Stock(), "local": Local(), "ssh": Ssh()}
    return own | {module.ENGINE_NAME: module.ENGINE for module in plugins() if hasattr(module, "ENGINE")}


def engine_kind(text: str) -> tuple[str, EngineKind]:
    """Return the name and the kind of the engine that a user wrote: ``virtual``, ``stock``, ``stock:6.12``.

    :raises InputError: if there is none, or if it has no images to choose from.
    """
    name, colon, image = text.partition(":")
    kinds = engine_kinds()
    if name not in kinds:
        raise InputError(f"there is no engine '{name}'", hint=f"one of {', '.join(kinds)}")
    if not colon:
        return name, kinds[name]
    kind = kinds[name]
    if not isinstance(kind, WithImages) or not image:
        raise InputError(f"the engine '{name}' has no kernel image '{image}'", hint="name the engine without a colon")
    return name, kind.chosen(image)
