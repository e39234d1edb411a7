# SPDX-License-Identifier: MIT
"""The lab kernel as a process of this machine: its command line, its virtual clock, its end.

The kernel runs pinned to one CPU (its processes take turns, and moving between CPUs makes every turn several times
slower), in a session of its own, without core dumps, and is killed by the host kernel should this process die.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import struct
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from mptcplab.errors import InputError, MissingError
from mptcplab.kernel import KernelBuild

#: 2025-01-01 00:00:00 UTC: the wall clock of every lab at boot.
WALL_CLOCK_NS = 1_735_689_600 * 10**9
_MEMORY = "1G"
_LONGEST_CONSOLE = 1 << 20
#: hostfs takes names of up to 4096 bytes, and those of recordings come on top.
_LONGEST_FOLDER = 3000
#: A script's first line, see BINPRM_BUF_SIZE.
_LONGEST_PYTHON = 240
_LAUNCHERS = ("setpriv", "--pdeathsig", "KILL", "prlimit", "--core=0:0", "taskset", "--cpu-list")


@dataclass(frozen=True)
class Boot:
    """What a lab kernel is started with.

    ``folder`` is the only host folder that the guest may write; ``source`` is where our package lies; ``exposed`` are
    folders that the guest must see although they are below /tmp or /run.
    """

    kernel: KernelBuild
    seed: int
    cpu: int
    folder: Path
    source: Path
    exposed: tuple[Path, ...] = ()


@dataclass
class Console:
    """What the guest printed; of a flood, the beginning and the end."""

    _kept: bytearray = field(default_factory=bytearray)

    def add(self, data: bytes) -> None:
        """Append, forgetting the middle when it grows too long."""
        self._kept += data
        if len(self._kept) > 2 * _LONGEST_CONSOLE:
            del self._kept[_LONGEST_CONSOLE // 2 : -_LONGEST_CONSOLE // 2]

    @property
    def text(self) -> str:
        """Everything kept, with plain line ends."""
        return self._kept.decode("utf-8", errors="replace").replace("\r\n", "\n")

    def tail(self, lines: int) -> str:
        """The last lines that say something."""
        return "\n".join([line for line in self.text.splitlines() if line.strip()][-lines:])


class Machine:
    """A running lab kernel. Use as a context manager: leaving it ends everything."""

    def __init__(self, boot: Boot) -> None:
        self.console = Console()
        _write_init(boot)
        self._clock_address = virtual_clock_address(boot.kernel)
        try:
            self._process = subprocess.Popen(
                [*_LAUNCHERS, str(boot.cpu), str(boot.kernel.executable), *_arguments(boot)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=boot.folder,
                env=_environment(),
                start_new_session=True,
            )
        except FileNotFoundError as error:
            hint = "sudo apt-get install util-linux"
            raise MissingError(f"this machine has no '{error.filename}'", hint=hint) from error
        assert self._process.stdout is not None
        self._output = self._process.stdout.fileno()
        self._pidfd = os.pidfd_open(self._process.pid)

    def __enter__(self) -> Machine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        assert self._process.stdout is not None
        self._process.stdout.close()
        os.close(self._pidfd)

    def wait(self, seconds: float, *, stop: int | None = None) -> bool:
        """Wait until the machine is off; False after ``seconds``, or when descriptor ``stop`` becomes readable."""
        watched = [self._pidfd, self._output, *([stop] if stop is not None else [])]
        ready, _, _ = select.select(watched, [], [], seconds)
        if self._pidfd in ready:  # first, because the pipe of an ended process is readable for ever
            self._process.wait()
            self._drain()
            return True
        if self._output in ready:
            self.console.add(os.read(self._output, 1 << 16))
        return False

    @property
    def status(self) -> int | None:
        """Exit status of the process, negative for a signal; None while it runs."""
        return self._process.returncode

    def virtual_ns(self) -> int | None:
        """The virtual clock, read from the kernel's memory: no help of the guest is needed. None if it has ended."""
        try:
            with open(f"/proc/{self._process.pid}/mem", "rb", buffering=0) as memory:
                memory.seek(self._clock_address)
                return int(struct.unpack("=Q", memory.read(8))[0])
        except (OSError, struct.error):
            return None

    def kill(self) -> None:
        """End every process of the machine at once."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._drain()

    def _drain(self) -> None:
        os.set_blocking(self._output, False)
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._output, 1 << 16):
                self.console.add(data)


def _environment() -> dict[str, str]:
    """UML keeps the guest's memory in an unlinked file, which must be mapped executable: some /dev/shm are not."""
    return {"PATH": os.environ.get("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"), "TMPDIR": str(memory_folder())}


def memory_folder() -> Path:
    """Where the guest's memory file goes: /dev/shm, or a disk when that is mounted noexec."""
    for folder in (Path("/dev/shm"), Path(os.environ.get("TMPDIR", "/tmp")), Path("/var/tmp")):
        with contextlib.suppress(OSError):
            if not os.statvfs(folder).f_flag & os.ST_NOEXEC and os.access(folder, os.W_OK):
                return folder
    hint = "mount /dev/shm or /tmp without noexec, or set TMPDIR"
    raise MissingError("no temporary folder lets a program map its memory executable", hint=hint)


def virtual_clock_address(kernel: KernelBuild) -> int:
    """Address of ``time_travel_time`` (arch/um/kernel/time.c) in the kernel's own, fixed, address space."""
    try:
        symbols = kernel.system_map.read_text()
    except OSError as error:
        raise MissingError(f"kernel {kernel.release} has no System.map", hint="mptcplab kernel build") from error
    found = re.search(r"^([0-9a-f]+) . time_travel_time$", symbols, re.MULTILINE)
    if found is None:
        hint = "mptcplab kernel build"
        raise MissingError(f"kernel {kernel.release} was built without time travel", hint=hint)
    return int(found[1], 16)


def check_folder(folder: Path) -> None:
    """:raises InputError: when a lab cannot have its files in ``folder``."""
    name = str(folder)
    if "," in name or not name.isprintable():
        # The guest mounts it with its name as an option, and a comma is between options.
        hint = "use a folder without commas and control characters in its name"
        raise InputError(f"the lab kernel cannot be given the folder {name!r}", hint=hint)
    if len(os.fsencode(name)) > _LONGEST_FOLDER:
        raise InputError(f"the lab kernel cannot be given so long a path as '{name}'", hint="use a shorter one")


def _arguments(boot: Boot) -> list[str]:
    """The same for every run of one kernel and seed: Linux stirs its command line into its random numbers."""
    return [
        f"mem={_MEMORY}",
        "root=none",
        "rootfstype=hostfs",
        "hostfs=/",
        "ro",
        # By the kernel's own working directory: what that link holds is read on the host.
        "init=/proc/self/cwd/init",
        "time-travel=inf-cpu",
        f"time-travel-start={WALL_CLOCK_NS}",
        f"rng_seed={boot.seed}",
        "uml_dir=uml/",
        "umid=lab",
        "con=null",
        "con0=null,fd:1",
        "ssl=null",
        "quiet",
        "panic=-1",
        *(["seccomp=on"] if _has_seccomp(boot.kernel) else []),
    ]


def _has_seccomp(kernel: KernelBuild) -> bool:
    """Fast system calls came with Linux 6.16."""
    major, minor = (int(part) for part in kernel.version.split(".")[:2])
    return (major, minor) >= (6, 16)


def _write_init(boot: Boot) -> None:
    """Process 1: this Python, isolated, with our package in reach. It is told here where things are."""
    python = Path(sys.executable).resolve()
    if any(letter.isspace() for letter in str(python)) or len(os.fsencode(python)) > _LONGEST_PYTHON:
        hint = "install mptcplab with a Python whose path is short and has no blanks"
        raise InputError(f"the lab kernel cannot start the Python at '{python}'", hint=hint)
    lines = (
        f"#!{python} -IS",
        "import sys",
        f"sys.path.insert(0, {str(boot.source)!r})",
        "from mptcplab.guest.init import main",
        f"main({str(boot.folder)!r}, {[str(path) for path in boot.exposed]!r})",
    )
    init = boot.folder / "init"
    init.write_text("\n".join(lines) + "\n")
    init.chmod(0o755)
