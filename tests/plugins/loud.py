# SPDX-License-Identifier: MIT
"""A plugin with an engine: the virtual one, which leaves a mark in the recording.

It claims to support no queueing disciplines but netem and tbf.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mptcplab.engine.protocol import Engine, Outcome
from mptcplab.engine.virtual.engine import VirtualEngineKind
from mptcplab.plan.model import Plan


class _Loud:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def tools(self) -> Mapping[str, Path]:
        return self._engine.tools

    @property
    def kernel_facts(self) -> Mapping[str, Any]:
        return self._engine.kernel_facts

    def check(self, plan: Plan) -> None:
        self._engine.check(plan)

    def execute(self, plan: Plan, *, seed: int, folder: Path, cpu: int, stop: int | None = None) -> Outcome:
        outcome = self._engine.execute(plan, seed=seed, folder=folder, cpu=cpu, stop=stop)
        (folder / "loud.txt").write_text("here\n")
        return outcome


class _Kind(VirtualEngineKind):
    capabilities = replace(VirtualEngineKind.capabilities, features=frozenset({"netem", "tbf"}))

    def prepare(self, version: str, tools: Mapping[str, Path], *, stall_seconds: float) -> Any:
        return _Loud(super().prepare(version, tools, stall_seconds=stall_seconds))


ENGINE_NAME, ENGINE = "loud", _Kind()
