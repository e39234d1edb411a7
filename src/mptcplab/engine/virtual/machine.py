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
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from mptcplab.engine.virtual.addresses import fixed_addresses
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
#: Stands for our process in _LAUNCHERS.
_PARENT = "PARENT"
#: The signal at our death only comes to who has asked for it: a shell sees that we had not died before that.
_GUARD = ("setpriv", "--pdeathsig", "KILL", "sh", "-c", 'test "$PPID" = "$0" && exec "$@"', _PARENT)
_LAUNCHERS = (*_GUARD, "prlimit", "--core=0:0", "taskset", "--cpu-list")


@dataclass(frozen=True)
class Boot:
    """What a lab kernel is started with.

    ``folder`` is the only host folder that the guest may write; ``source`` is where our package lies; ``exposed`` are
    folders that the guest must see although they are below /tmp or /run; ``terminal`` is a socket that the guest has
    as /dev/tty1.
    """

    kernel: KernelBuild
    seed: int
    cpu: int
    folder: Path
    source: Path
    exposed: tuple[Path, ...] = ()
    terminal: int | None = None


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
            with fixed_addresses():
                self._process = subprocess.Popen(
                    [*_launchers(), str(boot.cpu), str(boot.kernel.executable), *_arguments(boot)],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    cwd=boot.folder,
                    env=_environment(),
                    start_new_session=True,
                    pass_fds=() if boot.terminal is None else (boot.terminal,),
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

    def wait(self, seconds: float, *, stop: int | None = None, also: Sequence[int] = ()) -> bool:
        """Wait until the machine is off; False after ``seconds``, or when ``stop`` or one of ``also`` is readable."""
        watched = [self._pidfd, self._output, *([stop] if stop is not None else []), *also]
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

    def is_stopped(self) -> bool:
        """Whether somebody has stopped it, by SIGSTOP or by a debugger: its time stands still without its fault."""
        try:
            stat = Path(f"/proc/{self._process.pid}/stat").read_text()
        except OSError:
            return False
        return stat.rpartition(")")[2].split()[0] in ("T", "t")

    def pause(self) -> None:
        """Stop the machine where it is. It does not notice: its time is its own."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on after `pause`."""
        self._process.send_signal(signal.SIGCONT)

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


def _launchers() -> list[str]:
    return [str(os.getpid()) if word is _PARENT else word for word in _LAUNCHERS]


def _environment() -> dict[str, str]:
    """UML keeps the guest's memory in an unlinked file, which must be mapped executable: not every /dev/shm can be."""
    return {"PATH": os.environ.get("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"), "TMPDIR": str(memory_folder())}


def memory_folder() -> Path:
    """Where the guest's memory file goes: /dev/shm, or a disk when that is too small (Docker's) or mounted noexec.

    The file grows as the guest uses its memory. Where it cannot grow the lab dies in the middle, so there has to be
    room for all of it. :raises MissingError: when there is no such folder.
    """
    room = 0
    for folder in (Path("/dev/shm"), Path(os.environ.get("TMPDIR", "/tmp")), Path("/var/tmp")):
        with contextlib.suppress(OSError):
            place = os.statvfs(folder)
            if place.f_flag & os.ST_NOEXEC or not os.access(folder, os.W_OK):
                continue
            free = place.f_bavail * place.f_frsize
            if free >= _memory_bytes():
                return folder
            room = max(room, free)
    if room:
        needs = f"{_memory_bytes() >> 20} MiB of memory of a lab, at most {room >> 20} MiB are free"
        hint = "make /dev/shm larger (docker run --shm-size=2g), or set TMPDIR"
        raise MissingError(f"no temporary folder has room for the {needs}", hint=hint)
    hint = "mount /dev/shm or /tmp without noexec, or set TMPDIR"
    raise MissingError("no temporary folder lets a program map its memory executable", hint=hint)


def _memory_bytes() -> int:
    return int(_MEMORY[:-1]) << {"M": 20, "G": 30}[_MEMORY[-1]]


def virtual_clock_address(kernel: KernelBuild) -> int:
    """Address of ``time_travel_time`` (arch/um/kernel/time.c) in the kernel's own, fixed, address space."""
    try:
        symbols = kernel.system_map.read_text()
    except OSError as error:
        raise MissingError(f"kernel {kernel.release} has no System.map", hint="mptcplab kernel build") from error
    # A regular expression alone takes ten times as long, with every run, for 60,000 lines.
    line = symbols.partition(" time_travel_time\n")[0].rpartition("\n")[2]
    found = re.fullmatch(r"([0-9a-f]+) .", line)
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
        *([f"con1=fd:{boot.terminal}"] if boot.terminal is not None else []),
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
