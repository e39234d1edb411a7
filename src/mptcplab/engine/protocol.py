# SPDX-License-Identifier: MIT
"""What an engine is: something that carries out a plan, and says what it can and what it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from mptcplab.errors import InputError, LabError
from mptcplab.plan.model import Plan

#: Of wall time without progress until a run is given up. The slowest honest labs (hundreds of flows, gigabits) move
#: every few ms.
DEFAULT_STALL_SECONDS = 30.0


class RunInterruptedError(LabError):
    """The user, or the system, asked for the end."""


class DiskFullError(LabError):
    """The results found no room."""


@dataclass(frozen=True)
class Outcome:
    """What a finished lab left, besides the files in its folder.

    ``zero_ns`` is when the plan's time zero was and ``virtual_ns`` when everything was done, both on the engine's
    clock; times in ``programs`` count from time zero.
    """

    programs: list[dict[str, Any]]
    zero_ns: int
    virtual_ns: int
    wall_seconds: float


@dataclass(frozen=True)
class Capabilities:
    """What an engine can, and what it needs."""

    virtual_time: bool
    """Its clock stands still while anything computes, so that a run with the same seed is the same."""
    needs_root: bool
    one_kernel: bool
    """All nodes share one kernel, its memory and its routing cache."""
    chooses_kernel: bool
    """It runs the kernel that a scenario names, not one that is there."""
    features: frozenset[str] | None
    """What it can do to packets, see :class:`mptcplab.steps.Command`; None: all that a kernel can."""

    @property
    def has_limits(self) -> bool:
        """Whether there is something that a scenario could ask for in vain."""
        return not self.chooses_kernel or self.features is not None

    def check(self, plan: Plan, *, kernel: str | None, name: str) -> None:
        """``kernel`` is what a scenario asks for, ``name`` what the engine is called.

        :raises InputError: naming what this engine cannot do for ``plan``.
        """
        lacking = sorted(set(plan.features) - self.features) if self.features is not None else []
        if lacking:
            message = f"the engine '{name}' cannot do to packets what the scenario asks for: {', '.join(lacking)}"
            raise InputError(message, hint="use another --engine, or take this out of the links and routers")
        if kernel is not None and not self.chooses_kernel:
            message = f"the engine '{name}' runs the kernel that is there, and the scenario asks for {kernel}"
            raise InputError(message, hint="use another --engine, or take `kernel` out of the scenario")


class Engine(Protocol):
    """Carries out plans on one kernel."""

    @property
    def tools(self) -> Mapping[str, Path]:
        """Where the programs of ours are that plans name."""

    @property
    def kernel_facts(self) -> Mapping[str, Any]:
        """What of its kernel is part of a run's identity: at least ``release``, ``key``, ``config_sha256``, ``hz``."""

    def execute(self, plan: Plan, *, seed: int, folder: Path, cpu: int, stop: int | None = None) -> Outcome:
        """Run ``plan``; its files end up in ``folder``, an existing empty one.

        ``cpu`` is the processor to stay on. ``stop`` is a descriptor that becomes readable when everything shall end.
        :raises LabError: when the plan cannot be carried out to its end.
        :raises DiskFullError: when there was no room for the files.
        :raises RunInterruptedError: when ``stop`` became readable.
        """


class EngineKind(Protocol):
    """A kind of engine, as ``--engine`` names it."""

    @property
    def capabilities(self) -> Capabilities:
        """What it can, whatever the kernel."""

    def prepare(self, version: str, tools: Mapping[str, Path], *, stall_seconds: float) -> Engine:
        """Return an engine for the kernel that a scenario calls ``version``. :raises MissingError: without one."""

    def check_folder(self, folder: Path) -> None:
        """:raises InputError: when it cannot have its files in ``folder``."""
