# SPDX-License-Identifier: MIT
"""QEMU as a process of this machine: it interprets one x86 CPU, whose clock counts its instructions.

``-icount shift=0`` makes an instruction last one nanosecond, and ``sleep=off`` skips idle time. Nothing that the guest
can read depends on this machine's clock: its disk is an archive in its memory, its console is a file, and its results
leave by a port (virtio-serial) that answers at once (``ioeventfd=off``). QEMU's threads take turns, see `turns.c`. The
guest itself ends a run that is too long, see `start`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from mptcplab.engine.process import GuestProcess
from mptcplab.engine.stock.start import HEAD
from mptcplab.engine.stock.turns import turns_library
from mptcplab.errors import LabError, MissingError
from mptcplab.kernel.stock import StockKernel

QEMU = "qemu-system-x86_64"
PACKAGE = "qemu-system-x86"
MEMORY = "1G"
#: 2025-01-01 00:00:00 UTC: the clock at boot, as in the lab kernel.
_CLOCK = datetime(2025, 1, 1, tzinfo=UTC)
#: All of it but folders of this machine and the seed; it is part of the identity of runs.
COMMAND = (
    *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
    *("-name", "mptcplab,debug-threads=on"),
    *("-machine", "pc,usb=off,vmport=off", "-m", MEMORY, "-smp", "1"),
    *("-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off"),
    *("-rtc", f"base={_CLOCK:%Y-%m-%dT%H:%M:%S},clock=vm"),
    *("-cpu", "max,-rdrand,-rdseed"),
)
#: The kernel's options: no other clock or randomness, and no work that only security needs, which would take the
#: emulated CPU more time than the network does.
OPTIONS = (
    *("console=ttyS0", "quiet", "panic=-1", "oops=panic", "tsc=reliable", "nokaslr", "random.trust_cpu=off"),
    *("mitigations=off", "init_on_alloc=0", "lsm=capability", "audit=0", "cryptomgr.notests"),
    # The kernel gives unknown words to process 1. It has no random numbers yet, which Python otherwise needs.
    *("rdinit=/init", "PYTHONHASHSEED=0"),
    # To calibrate the CPU's own timer, the kernel counts for 100 ms, which takes seconds here: the HPET needs none.
    *("no_timer_check", "noapictimer"),
    # A kernel that hangs panics.
    *("softlockup_panic=1", "nmi_watchdog=0"),
)
_CONSOLE, _RESULTS, _ROOT = "console", "results", "root.cpio"


@dataclass(frozen=True)
class Boot:
    """The parameters of a machine's start. ``work`` is a folder for its files; ``root`` is the archive's."""

    kernel: StockKernel
    seed: int
    cpu: int
    work: Path
    root: tuple[Path, ...]


class Machine(GuestProcess):
    """A running stock machine. Use it as a context manager, which kills QEMU at its end."""

    def __init__(self, boot: Boot) -> None:
        """Start the machine. :raises MissingError: without QEMU."""
        self._work = boot.work
        with (boot.work / _ROOT).open("wb") as root:
            for part in boot.root:
                with part.open("rb") as file:
                    shutil.copyfileobj(file, root)
        environment = {"PATH": os.environ.get("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")}
        super().__init__(_command(boot), cpu=boot.cpu, folder=boot.work, environment=environment)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        with contextlib.suppress(OSError):
            self.console.add((self._work / _CONSOLE).read_bytes())


def _command(boot: Boot) -> list[str]:
    return [
        *("env", f"LD_PRELOAD={turns_library()}", str(qemu()), *COMMAND, "-seed", str(boot.seed % 2**32)),
        *("-monitor", "none"),
        *("-serial", f"file:{_CONSOLE}"),
        *("-device", "virtio-serial-pci,ioeventfd=off", "-chardev", f"file,id=results,path={_RESULTS}"),
        *("-device", "virtserialport,chardev=results,name=results"),
        *("-kernel", str(boot.kernel.image), "-initrd", _ROOT, "-append", " ".join(OPTIONS)),
    ]


def qemu() -> Path:
    """Return the path of QEMU. :raises MissingError: without it."""
    found = shutil.which(QEMU)
    if found is None:
        raise MissingError(f"this machine has no '{QEMU}'", hint=f"sudo apt-get install {PACKAGE}")
    return Path(found)


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
