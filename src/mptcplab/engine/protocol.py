# SPDX-License-Identifier: MIT
"""The protocol of engines: an engine executes plans, states its capabilities, stops when asked to; and all kinds."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from mptcplab.engine.defaults import DEFAULT_ENGINE
from mptcplab.errors import InputError, LabError, MissingError
from mptcplab.lazy import load
from mptcplab.plan.model import Plan
from mptcplab.plugins import PackagedParts, plugins

# The protocol of engines: an engine executes plans, and states its capabilities and its identity.


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
        """True if a scenario can need something that the engine lacks."""
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


# A request to stop: from a signal to every running lab.


class Stop:
    """Passes Ctrl-C, SIGTERM and SIGHUP to every lab, as a descriptor that becomes readable."""

    def __init__(self) -> None:
        self._event = os.eventfd(0)
        self.requested = False

    @property
    def descriptor(self) -> int:
        """The descriptor, which becomes and stays readable when a stop is requested."""
        return self._event

    def request(self) -> None:
        """Request a stop of everything."""
        self.requested = True
        os.eventfd_write(self._event, 1)

    def wait(self, seconds: float) -> bool:
        """Sleep until a stop is requested, at most for ``seconds``; return whether it was."""
        return bool(select.select([self._event], [], [], seconds)[0])

    def close(self) -> None:
        """Close the descriptor. Nothing may use it afterwards."""
        os.close(self._event)

    @contextlib.contextmanager
    def request_on_signals(self) -> Iterator[None]:
        """Request a stop on Ctrl-C, SIGTERM and the end of the terminal while inside.

        Only the main thread receives signals: in another one, this does nothing.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # otherwise it runs under nohup, and must continue
            numbers.append(signal.SIGHUP)
        before = {number: signal.signal(number, lambda *_: self.request()) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@contextlib.contextmanager
def interruptible() -> Iterator[Stop]:
    """Yield a stop that signals request, for labs that run inside.

    :raises KeyboardInterrupt: in place of the error of a lab that it has stopped.
    """
    stop = Stop()
    try:
        with stop.request_on_signals():
            yield stop
    except RunInterruptedError as error:
        raise KeyboardInterrupt from error
    finally:
        stop.close()


# All kinds of engines, by the names for ``--engine``. One is imported when it is chosen.
#
# Ours have a folder of their name beside this file, whose module ``engine`` has the class of their kind
# (``VirtualEngineKind``). A package has the class of a kind as an entry point of the group ``mptcplab.engines``. A
# plugin file (:mod:`mptcplab.plugins`) defines one as ``ENGINE``, with its name as ``ENGINE_NAME``.

_PACKAGED = PackagedParts("mptcplab.engines", "engine", {"ssh": "mptcplab-ssh"})


@cache
def _own_names() -> tuple[str, ...]:
    """Return the names of our engines, the default one first."""
    folders = (file.parent.name for file in Path(__file__).parent.glob("*/engine.py"))
    return tuple(sorted(folders, key=lambda name: (name != DEFAULT_ENGINE, name)))


def engine_names() -> list[str]:
    """Return the names of our engines, of engines in packages of this repository, and of plugins' engines."""
    return list(dict.fromkeys([*_own_names(), *_PACKAGED.names, *_plugin_kinds()]))


def kind_named(name: str) -> EngineKind:
    """Return the kind of engine with a name of :func:`engine_names`.

    :raises MissingError: if its package is missing.
    """
    of_plugin = _plugin_kinds().get(name)
    if of_plugin is not None:
        return of_plugin
    target = f"mptcplab.engine.{name}.engine:{name.capitalize()}EngineKind"
    kind: EngineKind = load(target)() if name in _own_names() else _PACKAGED.load(name)()
    return kind


def _plugin_kinds() -> dict[str, EngineKind]:
    return {module.ENGINE_NAME: module.ENGINE for module in plugins() if hasattr(module, "ENGINE")}


def engine_kind(text: str) -> tuple[str, EngineKind]:
    """Return the name and the kind of the engine that a user wrote: ``virtual``, ``stock``, ``stock:6.12``.

    :raises InputError: if there is none, or if it has no images to choose from. :raises MissingError: if its package
        is missing.
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
