# SPDX-License-Identifier: MIT
"""QEMU as a process of this machine: it interprets x86 CPUs, whose clock counts their instructions (`hardware`).

Nothing that the guest can read depends on this machine's clock: its disk is an archive in its memory, its console is a
file, and its results leave by a port (virtio-serial) that answers at once (``ioeventfd=off``). QEMU's threads take
turns, see `turns.c`. The guest itself ends a run that is too long, see `start`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from mptcplab.engine.process import GuestProcess
from mptcplab.engine.stock.hardware import MEMORY, ONE_CPU, Hardware
from mptcplab.engine.stock.start import HEAD
from mptcplab.engine.stock.turns import turns_library
from mptcplab.errors import LabError, MissingError
from mptcplab.kernel.stock import StockKernel
from mptcplab.plan.model import USUAL_MEMORY_BYTES

QEMU = "qemu-system-x86_64"
PACKAGE = "qemu-system-x86"
_CONSOLE, _RESULTS, _ROOT = "console", "results", "root.cpio"


@dataclass(frozen=True)
class StockBoot:
    """The parameters of a machine's start. ``work`` is a folder for its files; ``root`` is the archive's.

    ``memory`` is in bytes.
    """

    kernel: StockKernel
    seed: int
    cpu: int
    work: Path
    root: tuple[Path, ...]
    hardware: Hardware = ONE_CPU
    memory: int = USUAL_MEMORY_BYTES


class StockMachine(GuestProcess):
    """A running stock machine. Use it as a context manager, which kills QEMU at its end."""

    def __init__(self, boot: StockBoot) -> None:
        """Start the machine. :raises MissingError: without QEMU."""
        self._work, self._is_real = boot.work, boot.hardware.is_real
        self._started_ns = time.monotonic_ns()
        with (boot.work / _ROOT).open("wb") as root:
            for part in boot.root:
                with part.open("rb") as file:
                    shutil.copyfileobj(file, root)
        environment = {"PATH": os.environ.get("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")}
        super().__init__(_command(boot), cpus=host_cpus(boot), folder=boot.work, environment=environment)

    def virtual_ns(self) -> int | None:
        """In real time, return the time since the start, by which a guest that hangs is ended; others do that."""
        return time.monotonic_ns() - self._started_ns if self._is_real else None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        with contextlib.suppress(OSError):
            self.console.add((self._work / _CONSOLE).read_bytes())


def host_cpus(boot: StockBoot) -> set[int]:
    """Return the CPU of this machine to use; all for several CPUs that run at the same time."""
    return os.sched_getaffinity(0) if boot.hardware.is_real and boot.hardware.cpus > 1 else {boot.cpu}


def _command(boot: StockBoot) -> list[str]:
    # Real time goes on by itself.
    turns = () if boot.hardware.is_real else ("env", f"LD_PRELOAD={turns_library()}")
    return [
        *(*turns, str(qemu()), *_size_machine(boot), "-seed", str(boot.seed % 2**32)),
        *("-monitor", "none"),
        *("-serial", f"file:{_CONSOLE}"),
        *("-device", "virtio-serial-pci,ioeventfd=off", "-chardev", f"file,id=results,path={_RESULTS}"),
        *("-device", "virtserialport,chardev=results,name=results"),
        *("-kernel", str(boot.kernel.image), "-initrd", _ROOT, "-append", " ".join(boot.hardware.options)),
    ]


def _size_machine(boot: StockBoot) -> list[str]:
    """Return QEMU's options of the machine, with the memory that the run asks for."""
    words = list(boot.hardware.command)
    if boot.memory != USUAL_MEMORY_BYTES:
        words[words.index(MEMORY)] = f"{boot.memory >> 20}M"
    return words


def qemu() -> Path:
    """Return the path of QEMU. :raises MissingError: without it."""
    path = shutil.which(QEMU)
    if path is None:
        raise MissingError(f"this machine has no '{QEMU}'", subject=QEMU, packages=(PACKAGE,))
    return Path(path)


def unpack_results(work: Path, folder: Path) -> bool:
    """Write the results that the guest sent to ``folder``; return False if it did not send all.

    :raises LabError: if they are damaged.
    """
    with contextlib.suppress(FileNotFoundError), (work / _RESULTS).open("rb") as sent:
        while head := sent.read(HEAD.size):
            if len(head) < HEAD.size:
                return False
            name_bytes, size = HEAD.unpack(head)
            if not name_bytes:
                return True
            target = folder / os.fsdecode(sent.read(name_bytes))
            if not target.resolve().is_relative_to(folder.resolve()):
                raise LabError(
                    f"the machine sent a result outside of its folder: {target.name}", hint="do not trust its programs"
                )
            target.parent.mkdir(parents=True, exist_ok=True)
            if not _copy(sent.fileno(), sent.tell(), size, target):
                return False
            sent.seek(size, os.SEEK_CUR)
    return False


def _copy(source: int, offset: int, size: int, target: Path) -> bool:
    with target.open("wb") as file:
        while size:
            done = os.sendfile(file.fileno(), source, offset, size)
            if not done:
                return False
            offset, size = offset + done, size - done
    return True
