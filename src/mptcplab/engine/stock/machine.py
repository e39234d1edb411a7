# SPDX-License-Identifier: MIT
"""The emulated machine: QEMU as a process that interprets x86 CPUs, whose clock counts their instructions."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from pathlib import Path
from types import TracebackType

from mptcplab.cache import KEY_CHARS, cache_root, hold_lock, make_work_folder
from mptcplab.engine.process import GuestProcess
from mptcplab.engine.stock.start import EXIT_PORT, HEAD
from mptcplab.engine.tools import find_program, fingerprint
from mptcplab.errors import InputError, LabError, MissingError, reason
from mptcplab.kernel.stock import StockKernel
from mptcplab.plan.model import USUAL_MEMORY_BYTES

# The emulated machine: how many CPUs it has, and who executes their instructions.
#
# A user writes it after the image: ``stock:6.12,cpus=2``, ``stock:6.12,cpus=4,parallel``, ``stock:,kvm``.

KVM, CPUS = Path("/dev/kvm"), Path("/proc/cpuinfo")
MEMORY = "1G"
#: More CPUs show nothing more of concurrency, and an interpreted one waits for all others.
MAX_CPUS = 16
#: 2025-01-01 00:00:00 UTC: the clock at boot, as in the lab kernel.
_CLOCK = f"{datetime(2025, 1, 1, tzinfo=UTC):%Y-%m-%dT%H:%M:%S}"
_HINT = f"write for example stock:6.12,cpus=2 (up to {MAX_CPUS}), with `parallel` or `kvm` for real time"
_MACHINE = (
    *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
    *("-name", "mptcplab,debug-threads=on"),
    *("-machine", "pc,usb=off,vmport=off", "-m", MEMORY),
    *("-device", f"isa-debug-exit,iobase={EXIT_PORT:#x},iosize=2"),
)
#: QEMU 7.2 computes some flags wrongly in cmpxchg16b (cx16). An interrupt right after it, which several CPUs make
#: likely, saves them, and the kernel panics with a double fault.
#: The rest takes the interpreter time: strings copied byte by byte (erms), a further level of page tables (la57), an
#: instruction before and after each access to user memory (smap), and a state of 2.7 kB at each switch (mpx, pku).
_INTERPRETED = "max,-cx16,-erms,-fsrm,-la57,-smap,-smep,-mpx,-pku"
#: An instruction lasts a nanosecond, idle time is skipped, and nothing in the machine reads this machine's clock.
_COUNTED = (
    *("-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off"),
    *("-rtc", f"base={_CLOCK},clock=vm"),
    *("-cpu", f"{_INTERPRETED},-rdrand,-rdseed"),
)
#: QEMU interprets each CPU in a thread of its own, or this machine's CPU executes the instructions.
_PARALLEL = ("-accel", "tcg,thread=multi", "-rtc", f"base={_CLOCK}", "-cpu", _INTERPRETED)
_KVM = ("-accel", "kvm", "-rtc", f"base={_CLOCK}", "-cpu", "host")
#: Functions of the kernel's start that take 20 to 300 ms each, and on which no network depends. A kernel that has no
#: function of a name ignores it.
_NOT_STARTED = (
    "trace_eval_init",  # names of values in trace events
    "init_kprobe_trace",  # events for probes
    "ftrace_check_for_weak_functions",
    "jent_mod_init",  # tests of the jitter random number generator, and of BLAKE2s
    "blake2s_mod_init",
    "load_system_certificate_list",  # keys that sign modules
    "hpet_late_init",  # programs' use of the HPET, which the kernel itself has by then
    "hpet_init",
    "init_acpi_pm_clocksource",  # another clock, tested against the first
    "i8042_init",  # keyboard
)
#: The kernel's options: no randomness but the seed's, and no work that only security needs, which would take the
#: emulated CPU more time than the network does.
_OPTIONS = (
    *("console=ttyS0", "quiet", "panic=-1", "oops=panic", "nokaslr", "random.trust_cpu=off"),
    *("mitigations=off", "init_on_alloc=0", "lsm=capability", "audit=0", "cryptomgr.notests"),
    # The kernel gives unknown words to process 1. It has no random numbers yet, which Python otherwise needs.
    *("rdinit=/init", "PYTHONHASHSEED=0"),
    "nmi_watchdog=0",
    # Pages of the kernel's code stay writable: making them read-only, and checking that, takes 0.15 s.
    "rodata=off",
    f"initcall_blacklist={','.join(_NOT_STARTED)}",
)
#: A kernel that hangs panics. To calibrate the CPU's own timer, the kernel counts for 100 ms, which takes seconds here:
#: the HPET needs none, but it alone cannot interrupt several CPUs.
_COUNTED_OPTIONS = ("softlockup_panic=1", "tsc=reliable", "no_timer_check", "noapictimer")
#: This machine may be busy for longer than a kernel expects of its CPUs.
_REAL_OPTIONS = ("nowatchdog", "tsc=reliable", "no_timer_check")


class Execution(StrEnum):
    """The executor of the instructions. But for counted ones, time is real, and runs do not repeat."""

    COUNTED = "counted"
    """QEMU interprets all CPUs in turns, and their clock counts instructions."""
    PARALLEL = "parallel"
    """QEMU interprets each CPU in a thread."""
    KVM = "kvm"
    """This machine's CPU."""


@dataclass(frozen=True)
class Hardware:
    """The machine of an engine."""

    cpus: int = 1
    execution: Execution = Execution.COUNTED

    @property
    def is_real(self) -> bool:
        """True if its time is real."""
        return self.execution != Execution.COUNTED

    @property
    def command(self) -> tuple[str, ...]:
        """All options of QEMU but folders of this machine and the seed; they are part of the identity of runs."""
        options = {Execution.COUNTED: _COUNTED, Execution.PARALLEL: _PARALLEL, Execution.KVM: _KVM}
        return (*_MACHINE, "-smp", str(self.cpus), *options[self.execution])

    @property
    def options(self) -> tuple[str, ...]:
        """The kernel's command line."""
        if self.is_real:
            return (*_OPTIONS, *_REAL_OPTIONS)
        return (*_OPTIONS, *(_COUNTED_OPTIONS if self.cpus == 1 else _COUNTED_OPTIONS[:-1]))

    @property
    def time(self) -> str:
        """The kind of its clock, as for :func:`mptcplab.kernel.config.clock_text`."""
        return "machine" if self.is_real else "instructions"

    def check(self) -> None:
        """Check that this machine offers KVM, if that is asked for. :raises MissingError: if it does not."""
        if self.execution != Execution.KVM:
            return
        hint = "leave out `kvm`: QEMU then interprets the instructions, slower, and runs repeat"
        try:
            os.close(os.open(KVM, os.O_RDWR | os.O_CLOEXEC))
        except PermissionError as error:
            raise MissingError(
                f"'{KVM}' may not be opened", hint=f"add yourself to its group (kvm), or {hint}"
            ) from error
        except OSError as error:
            raise MissingError(f"this machine has no KVM: '{KVM}': {reason(error)}", hint=hint) from error
        # Some hypervisors offer a KVM that only runs kernels made for it.
        if not re.search(r"^flags\s*:.*\b(vmx|svm)\b", CPUS.read_text(), re.MULTILINE):
            raise MissingError("an ordinary kernel cannot run in KVM here: the CPU has neither vmx nor svm", hint=hint)


ONE_CPU = Hardware()


def parse_image(text: str) -> tuple[str, Hardware]:
    """Return the image and the machine that ``text`` names: ``6.12,cpus=2``. :raises InputError: if it names none."""
    image, *words = text.split(",")
    cpus, execution = 1, Execution.COUNTED
    for word in words:
        key, _, value = word.partition("=")
        if word in (Execution.PARALLEL, Execution.KVM):
            if execution not in (Execution.COUNTED, word):
                raise InputError(f"'{execution}' and '{word}' exclude each other", hint=_HINT)
            execution = Execution(word)
        elif key == "cpus" and value.isdecimal() and 1 <= int(value) <= MAX_CPUS:
            cpus = int(value)
        else:
            raise InputError(f"'{word}' does not describe a stock machine", hint=_HINT)
    return image, Hardware(cpus, execution)


# Compiles `turns.c`, the library that makes the threads of QEMU take turns, on first use.

SOURCE = Path(__file__).with_name("turns.c")
_FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared")


@cache
def turns_library() -> Path:
    """Return the path of the library. :raises MissingError: without a compiler. :raises LabError: if that fails."""
    compiler = find_program("gcc")
    digest = hashlib.sha256(fingerprint(compiler).encode() + SOURCE.read_bytes())
    library = cache_root() / "tools" / f"turns-{digest.hexdigest()[:KEY_CHARS]}.so"
    with hold_lock("turns", cache_root()):
        if not library.is_file():
            with make_work_folder("turns", cache_root()) as work:
                command = [str(compiler), *_FLAGS, "-o", str(work / "turns.so"), str(SOURCE)]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    raise LabError(
                        f"the source `{SOURCE.name}` does not compile", hint=f"to see why: {' '.join(command)}"
                    )
                library.parent.mkdir(parents=True, exist_ok=True)
                os.rename(work / "turns.so", library)
    return library


# QEMU as a process of this machine: it interprets x86 CPUs, whose clock counts their instructions (:class:`Hardware`).
#
# Nothing that the guest can read depends on this machine's clock: its disk is an archive in its memory, its console is
# a file, and its results leave by a port (virtio-serial) that answers at once (``ioeventfd=off``). QEMU's threads take
# turns, see `turns.c`. The guest itself ends a run that is too long, see `start`.

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
