# SPDX-License-Identifier: MIT
"""The engine ``stock``: one plan on an ordinary kernel in QEMU, in virtual time with a CPU of limited speed."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from mptcplab.cache import cache_root, make_work_folder
from mptcplab.ebpf.objects import sources_digest
from mptcplab.ebpf.user_programs import compile_user_programs
from mptcplab.engine.defaults import DEFAULT_STALL_SECONDS
from mptcplab.engine.memory import available_memory, with_limits
from mptcplab.engine.process import ALLOWANCE_NS, Watchdog, watch
from mptcplab.engine.protocol import Capabilities, Outcome
from mptcplab.engine.report import package_folder, read_outcome
from mptcplab.engine.stock import start
from mptcplab.engine.stock.machine import (
    ONE_CPU,
    SOURCE,
    Hardware,
    StockBoot,
    StockMachine,
    parse_image,
    qemu,
    unpack_results,
)
from mptcplab.engine.stock.modules import ModuleTree, check_algorithms, check_loaded, modules_of, program_contents
from mptcplab.engine.stock.root import archive, base_archive, base_files, contents, program_files, python
from mptcplab.engine.tools import find_programs, fingerprint
from mptcplab.errors import MissingError, try_each
from mptcplab.files import format_json
from mptcplab.guest.system import LAB
from mptcplab.kernel.stock import StockKernel, find_stock
from mptcplab.plan.model import Plan

_POLL_SECONDS = 0.25
#: The plan's time zero on the clock since boot, at the latest: the network of a large plan takes a few seconds.
_LATEST_ZERO_NS = 30 * 10**9


@dataclass(frozen=True)
class StockEngine:
    """Executes plans on the kernel ``kernel``. ``tools`` maps names of our programs to their paths."""

    kernel: StockKernel
    tools: Mapping[str, Path]
    stall_seconds: float = DEFAULT_STALL_SECONDS
    hardware: Hardware = ONE_CPU

    @property
    def kernel_facts(self) -> dict[str, Any]:
        """See :class:`mptcplab.engine.protocol.Engine`. The emulated machine is a part of the kernel's key."""
        machine = _machine_digest(qemu(), self.hardware)
        return {
            "release": self.kernel.release,
            "key": hashlib.sha256(f"{self.kernel.sha256} {machine}".encode()).hexdigest(),
            "config_sha256": self.kernel.config_sha256,
            "hz": self.kernel.hz,
            "time": self.hardware.time,
        }

    def check(self, plan: Plan) -> None:
        """See :class:`mptcplab.engine.protocol.Engine`.

        :raises MissingError: if the kernel has no module for something.
        """
        tree = ModuleTree(self.kernel)
        check_algorithms(plan, self.kernel, tree)
        modules_of(plan, tree)

    def program_digests(self, plan: Plan) -> Mapping[str, str]:
        """See :class:`mptcplab.engine.protocol.WithPrograms`."""
        programs = compile_user_programs(plan.bpf, self.kernel)
        return {program.file: hashlib.sha256(program.content).hexdigest() for program in programs}

    def execute(self, plan: Plan, *, seed: int, folder: Path, cpu: int, stop: int | None = None) -> Outcome:
        """See :class:`mptcplab.engine.protocol.Engine`. ``folder`` has the files of the lab kernel's engine."""
        programs = find_programs(plan.uses, self.tools)
        started = time.monotonic()
        with make_work_folder("stock", cache_root()) as work:
            initramfs = work / "own.cpio"
            initramfs.write_bytes(archive(self._files(plan, programs, seed)))
            base = base_archive(package_folder(), whole_library="python3" in plan.uses)
            with StockMachine(
                StockBoot(self.kernel, seed, cpu, work, (base, initramfs), self.hardware, plan.memory_bytes)
            ) as machine:
                verdict = watch(machine, Watchdog(_LATEST_ZERO_NS + plan.deadline_ns), _POLL_SECONDS, stop)
            unpack_results(work, folder)
        (folder / "console.txt").write_text(machine.console.text)
        check_loaded(folder, self.kernel)
        return read_outcome(folder, machine, verdict, plan, started=started)

    def _files(self, plan: Plan, programs: Mapping[str, Path], seed: int) -> dict[str, tuple[bytes, bool]]:
        """Return the files of one run, beside Python and the guest."""
        tree = ModuleTree(self.kernel)
        modules = tree.sort_by_dependency(modules_of(plan, tree))
        paths = {name: str(path) for name, path in programs.items()}
        work = {"plan": replace(with_limits(plan), bpf=()).to_dict(), "programs": paths}
        limit_s = (_LATEST_ZERO_NS + plan.deadline_ns + ALLOWANCE_NS) // 10**9
        script = (
            f"#!{python()} -PSs",
            f"import sys; sys.path.insert(0, {start.PACKAGE!r})",
            f"from mptcplab.engine.stock.start import main; main({_secret(seed)!r}, {limit_s})",
        )
        base = base_files(package_folder(), whole_library="python3" in plan.uses)
        return {
            **contents(program_files(programs) - base),
            **program_contents(plan, self.kernel, tree),
            **{f"{start.MODULES}/{name}": (content, False) for name, content in modules},
            start.ORDER: ("\n".join(name for name, _ in modules).encode(), False),
            f"{LAB}/plan.json": (format_json(work, levels=3).encode(), False),
            "/init": ("\n".join(script).encode() + b"\n", True),
        }


def _secret(seed: int) -> bytes:
    """Return the source of all random numbers. Here, since the guest would have to load a library for the hash."""
    return hashlib.sha512(b"mptcplab %d" % seed).digest()


@cache
def _machine_digest(emulator: Path, hardware: Hardware) -> str:
    """Return the hash of everything that makes the machine, but the kernel and the plan."""
    parts = (Path(start.__file__).read_bytes(), SOURCE.read_bytes(), sources_digest().encode())
    digest = hashlib.sha256(b"".join(parts)).hexdigest()
    return f"{fingerprint(emulator)} {digest} {' '.join((*hardware.command, *hardware.options))}"


class StockEngineKind:
    """The kind of engine that runs stock kernels in QEMU."""

    def __init__(self, image: str = "", hardware: Hardware = ONE_CPU) -> None:
        """Use the stock kernel ``image``: a version, a release or a path; empty: the default one."""
        self._image, self._hardware = image, hardware

    def free_memory(self) -> int:
        """See :class:`mptcplab.engine.protocol.WithMemory`."""
        return available_memory()

    @property
    def capabilities(self) -> Capabilities:
        """See :class:`mptcplab.engine.protocol.EngineKind`."""
        return Capabilities(
            virtual_time=not self._hardware.is_real,
            needs_root=False,
            one_kernel=True,
            chooses_kernel=False,
            features=None,
            bpf=True,
            on_clusters=self._hardware == ONE_CPU,
        )

    def with_images(self, image: str) -> StockEngineKind:
        """See :class:`mptcplab.engine.protocol.WithImages`. After the image, the text can describe the machine."""
        return StockEngineKind(*parse_image(image))

    def prepare(self, version: str, tools: Mapping[str, Path], *, stall_seconds: float) -> StockEngine:
        """See :class:`mptcplab.engine.protocol.EngineKind`. ``version`` is of lab kernels, and so not used."""
        del version
        qemu()
        self._hardware.check()
        return StockEngine(find_stock(self._image), tools, stall_seconds, self._hardware)

    def find_missing(self, versions: Iterable[str | None]) -> Iterator[MissingError]:
        """See :class:`mptcplab.engine.protocol.WithNeeds`: QEMU and the image. ``versions`` are of lab kernels."""
        del versions
        yield from (error for _, error in try_each(lambda _: qemu(), [self]))
        yield from (error for _, error in try_each(find_stock, [self._image]))

    def check_folder(self, folder: Path) -> None:
        """See :class:`mptcplab.engine.protocol.EngineKind`: the machine does not see this folder."""
