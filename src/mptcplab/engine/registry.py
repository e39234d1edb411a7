# SPDX-License-Identifier: MIT
"""All kinds of engines, by the names for ``--engine``.

A plugin (:mod:`mptcplab.plugins`) defines one as ``ENGINE``, with its name as ``ENGINE_NAME``.
"""

from __future__ import annotations

from mptcplab.engine.protocol import EngineKind
from mptcplab.engine.virtual.engine import Virtual
from mptcplab.plugins import plugins

DEFAULT_ENGINE = "virtual"


def engine_kinds() -> dict[str, EngineKind]:
    """Return our engines and those of plugins by name."""
    own: dict[str, EngineKind] = {DEFAULT_ENGINE: Virtual()}
    return own | {module.ENGINE_NAME: module.ENGINE for module in plugins() if hasattr(module, "ENGINE")}
