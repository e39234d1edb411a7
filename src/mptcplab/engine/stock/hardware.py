# SPDX-License-Identifier: MIT
"""The emulated machine: how many CPUs it has, and who executes their instructions.

A user writes it after the image: ``stock:6.12,cpus=2``, ``stock:6.12,cpus=4,parallel``, ``stock:,kvm``.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from mptcplab.engine.stock.start import EXIT_PORT
from mptcplab.errors import InputError, MissingError, reason

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
    """Who executes the instructions. But for counted ones, time is real, and runs do not repeat."""

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
        """Whether its time is real."""
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
            execution = Execution(word)
        elif key == "cpus" and value.isdecimal() and 1 <= int(value) <= MAX_CPUS:
            cpus = int(value)
        else:
            raise InputError(f"'{word}' does not describe a stock machine", hint=_HINT)
    return image, Hardware(cpus, execution)
