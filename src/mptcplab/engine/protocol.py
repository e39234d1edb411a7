# SPDX-License-Identifier: MIT
"""The protocol of engines: an engine executes plans, and states its capabilities and its identity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from mptcplab.errors import InputError, LabError, MissingError
from mptcplab.plan.model import Plan


class RunInterruptedError(LabError):
    """The user or the system interrupted the run."""


class DiskFullError(LabError):
    """The disk has no space for the results."""


@dataclass(frozen=True)
class Outcome:
    """The result of a finished lab, besides the files in its folder.

    ``zero_ns`` is the plan's time zero and ``virtual_ns`` the end, both on the engine's clock. Times in ``programs``
    count from time zero.
    """

    programs: list[dict[str, Any]]
    zero_ns: int
    virtual_ns: int
    wall_seconds: float


@dataclass(frozen=True)
class Capabilities:
    """The abilities and needs of an engine."""

    virtual_time: bool
    """Its clock stops while any process computes, so that a run with the same seed repeats exactly."""
    needs_root: bool
    one_kernel: bool
    """All nodes share one kernel, its memory and its routing cache."""
    chooses_kernel: bool
    """It runs the lab kernel that a scenario names."""
    features: frozenset[str] | None
    """The effects on packets that it supports, see :class:`mptcplab.steps.Command`; None: all that a kernel has."""

    bpf: bool = False
    """It compiles and loads eBPF programs of the user."""
    executes_commands: bool = False
    """Its guest executes the forms of ``ethtool`` and ``sysctl`` that plans use, so a run needs neither program."""
    on_clusters: bool = True
    """Workers of a cluster can execute its runs, with nothing but the run and the name of its kernel."""

    @property
    def has_limits(self) -> bool:
        """Whether a scenario can need something that the engine lacks."""
        return not self.chooses_kernel or self.features is not None

    def check(self, plan: Plan, *, kernel: str | None, name: str) -> None:
        """Check that the engine ``name`` can execute ``plan`` with the scenario's ``kernel``, if it names one.

        :raises InputError: naming the abilities that it lacks.
        """
        missing = sorted(set(plan.features) - self.features) if self.features is not None else []
        if missing:
            message = f"the engine '{name}' does not support what the scenario does to packets: {', '.join(missing)}"
            raise InputError(message, hint="use another --engine, or remove this from the links and routers")
        if plan.bpf and not self.bpf:
            message = f"the engine '{name}' does not load eBPF programs, and the scenario names some in `bpf`"
            raise InputError(message, hint="use --engine stock, whose kernels can load them")
        if kernel is not None and not self.chooses_kernel:
            message = f"the engine '{name}' does not run lab kernels, and the scenario requires {kernel}"
            raise InputError(message, hint="use another --engine, or remove `kernel` from the scenario")


class Engine(Protocol):
    """Executes plans on one kernel."""

    @property
    def tools(self) -> Mapping[str, Path]:
        """The paths of our own programs by the names that plans use."""

    @property
    def kernel_facts(self) -> Mapping[str, Any]:
        """The facts of its kernel in a run's identity: at least ``release``, ``key``, ``config_sha256``, ``hz``."""

    def check(self, plan: Plan) -> None:
        """Check that its kernel can execute ``plan``, before anything runs. Only engines with limits are asked.

        :raises InputError: naming what the plan needs and the kernel lacks. :raises MissingError: if a file is missing.
        """

    def execute(self, plan: Plan, *, seed: int, folder: Path, cpu: int, stop: int | None = None) -> Outcome:
        """Execute ``plan`` and write its files to ``folder``, which is empty.

        ``cpu`` is the processor to use. ``stop`` is a descriptor that becomes readable to request a stop.
        :raises LabError: if the plan cannot be executed to its end.
        :raises DiskFullError: if there is no space for the files.
        :raises RunInterruptedError: if ``stop`` becomes readable.
        """


class EngineKind(Protocol):
    """A kind of engine, as ``--engine`` names it."""

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of its engines with every kernel."""

    def prepare(self, version: str, tools: Mapping[str, Path], *, stall_seconds: float) -> Engine:
        """Return an engine for the kernel that a scenario calls ``version``. :raises MissingError: if it is missing."""

    def check_folder(self, folder: Path) -> None:
        """Check that the engine can use ``folder`` for its files. :raises InputError: if it cannot."""


@runtime_checkable
class WithPrograms(Protocol):
    """An engine that loads eBPF programs."""

    def program_digests(self, plan: Plan) -> Mapping[str, str]:
        """Return the hash of each compiled program of ``plan`` by the name of its source.

        :raises InputError: if one does not compile. :raises MissingError: if this machine lacks something for that.
        """


@runtime_checkable
class WithNeeds(Protocol):
    """A kind of engine that needs more of this machine than the programs of plans: kernels, an emulator."""

    def find_missing(self, versions: Iterable[str | None]) -> Iterator[MissingError]:
        """Yield an error for each thing that this machine lacks, before any run.

        ``versions`` are the scenarios' kernels, None for the default one.
        """


@runtime_checkable
class WithMemory(Protocol):
    """A kind of engine that makes a machine for each run, with the memory that its plan names."""

    def free_memory(self) -> int:
        """Return the bytes that this machine has free for such machines, all together."""


@runtime_checkable
class WithImages(Protocol):
    """A kind of engine whose name can be followed by a colon and what it runs on: the kernel image of ``stock:6.12``,
    the inventory of ``ssh:lab.toml``."""

    def with_images(self, image: str) -> EngineKind:
        """Return this kind with the image or inventory that the user chose. :raises InputError: if it is not usable."""
