# SPDX-License-Identifier: MIT
"""The lab kernel as a process of this machine: its command line, its virtual clock, its exit.

The kernel runs pinned to one CPU (its processes take turns, and every turn is several times slower if they move between
CPUs), in its own session and without core dumps. The host kernel kills it if this process dies.
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
_MAX_CONSOLE_BYTES = 1 << 20
#: hostfs accepts names of up to 4096 bytes, which include the names of files in the recording.
_MAX_FOLDER_BYTES = 3000
#: A script's first line is limited, see BINPRM_BUF_SIZE.
_MAX_PYTHON_BYTES = 240
#: The placeholder for our process id in _LAUNCHERS.
_PARENT = "PARENT"
#: A process gets the signal at our death only after it has asked for it. The shell checks that we were alive then.
_GUARD = ("setpriv", "--pdeathsig", "KILL", "sh", "-c", 'test "$PPID" = "$0" && exec "$@"', _PARENT)
_LAUNCHERS = (*_GUARD, "prlimit", "--core=0:0", "taskset", "--cpu-list")


@dataclass(frozen=True)
class Boot:
    """The parameters of a lab kernel's start.

    ``folder`` is the only host folder that the guest can write. ``source`` is the folder of our package. ``exposed``
    are folders that the guest must see although they are below /tmp or /run. ``terminal`` is a socket that becomes the
    guest's /dev/tty1.
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
    """The guest's console output. If it is very long, only the beginning and the end are kept."""

    _kept: bytearray = field(default_factory=bytearray)

    def add(self, data: bytes) -> None:
        """Append output, and drop the middle if there is too much."""
        self._kept += data
        if len(self._kept) > 2 * _MAX_CONSOLE_BYTES:
            del self._kept[_MAX_CONSOLE_BYTES // 2 : -_MAX_CONSOLE_BYTES // 2]

    @property
    def text(self) -> str:
        """The output that was kept, with plain line ends."""
        return self._kept.decode("utf-8", errors="replace").replace("\r\n", "\n")

    def tail(self, lines: int) -> str:
        """Return the last lines that are not blank."""
        return "\n".join([line for line in self.text.splitlines() if line.strip()][-lines:])


class Machine:
    """A running lab kernel. Use it as a context manager, which kills the kernel at its end."""

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
        """Wait until the machine is off; return False after ``seconds``, or if ``stop`` or ``also`` is readable."""
        watched = [self._pidfd, self._output, *([stop] if stop is not None else []), *also]
        ready, _, _ = select.select(watched, [], [], seconds)
        if self._pidfd in ready:  # first, because the pipe of an exited process stays readable
            self._process.wait()
            self._drain()
            return True
        if self._output in ready:
            self.console.add(os.read(self._output, 1 << 16))
        return False

    @property
    def status(self) -> int | None:
        """The exit status of the process, negative for a signal; None while it runs."""
        return self._process.returncode

    def virtual_ns(self) -> int | None:
        """Return the virtual clock, read from the kernel's memory without help of the guest; None after its exit."""
        try:
            with open(f"/proc/{self._process.pid}/mem", "rb", buffering=0) as memory:
                memory.seek(self._clock_address)
                return int(struct.unpack("=Q", memory.read(8))[0])
        except (OSError, struct.error):
            return None

    def is_stopped(self) -> bool:
        """Return whether SIGSTOP or a debugger has stopped the process, which also stops its virtual time."""
        try:
            stat = Path(f"/proc/{self._process.pid}/stat").read_text()
        except OSError:
            return False
        return stat.rpartition(")")[2].split()[0] in ("T", "t")

    def pause(self) -> None:
        """Stop the process. The guest does not notice, since its clock is virtual."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Continue the process after `pause`."""
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill every process of the machine."""
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
    """Return the kernel's environment. TMPDIR is where UML maps the guest's memory from an unlinked file."""
    return {"PATH": os.environ.get("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"), "TMPDIR": str(memory_folder())}


def memory_folder() -> Path:
    """Return the folder for the guest's memory file, which is mapped executable.

    It is /dev/shm, or a disk if that is too small (as in Docker) or mounted noexec. The file grows as the guest uses
    its memory. If it cannot grow, the lab dies, so there must be space for all of it.
    :raises MissingError: if there is no such folder.
    """
    most_free = 0
    for folder in (Path("/dev/shm"), Path(os.environ.get("TMPDIR", "/tmp")), Path("/var/tmp")):
        with contextlib.suppress(OSError):
            place = os.statvfs(folder)
            if place.f_flag & os.ST_NOEXEC or not os.access(folder, os.W_OK):
                continue
            free = place.f_bavail * place.f_frsize
            if free >= _memory_bytes():
                return folder
            most_free = max(most_free, free)
    if most_free:
        needs = f"{_memory_bytes() >> 20} MiB of a lab's memory; at most {most_free >> 20} MiB are free"
        hint = "enlarge /dev/shm (docker run --shm-size=2g), or set TMPDIR"
        raise MissingError(f"no temporary folder has space for the {needs}", hint=hint)
    hint = "mount /dev/shm or /tmp without noexec, or set TMPDIR"
    raise MissingError("no temporary folder allows executable memory mappings", hint=hint)


def _memory_bytes() -> int:
    return int(_MEMORY[:-1]) << {"M": 20, "G": 30}[_MEMORY[-1]]


def virtual_clock_address(kernel: KernelBuild) -> int:
    """Return the address of ``time_travel_time`` (arch/um/kernel/time.c) in the kernel's fixed address space."""
    try:
        symbols = kernel.system_map.read_text()
    except OSError as error:
        raise MissingError(f"kernel {kernel.release} has no System.map", hint="mptcplab kernel build") from error
    # A regular expression over all 60,000 lines would take ten times as long, in every run.
    line = symbols.partition(" time_travel_time\n")[0].rpartition("\n")[2]
    found = re.fullmatch(r"([0-9a-f]+) .", line)
    if found is None:
        hint = "mptcplab kernel build"
        raise MissingError(f"kernel {kernel.release} was built without time travel", hint=hint)
    return int(found[1], 16)


def check_folder(folder: Path) -> None:
    """Check that a lab can use ``folder`` for its files. :raises InputError: if it cannot."""
    name = str(folder)
    if "," in name or not name.isprintable():
        # The guest mounts the folder with its name as a mount option, and commas separate options.
        hint = "use a folder without commas and control characters in its name"
        raise InputError(f"the lab kernel cannot use the folder {name!r}", hint=hint)
    if len(os.fsencode(name)) > _MAX_FOLDER_BYTES:
        raise InputError(f"the path '{name}' is too long for the lab kernel", hint="use a shorter one")


def _arguments(boot: Boot) -> list[str]:
    """Return the kernel's command line, which is the same for every run of a kernel and seed.

    Linux mixes its command line into its random numbers.
    """
    return [
        f"mem={_MEMORY}",
        "root=none",
        "rootfstype=hostfs",
        "hostfs=/",
        "ro",
        # Relative to the kernel's working directory, since the host resolves that link.
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
    """Return whether the kernel has fast system calls by seccomp, which Linux 6.16 introduced."""
    major, minor = (int(part) for part in kernel.version.split(".")[:2])
    return (major, minor) >= (6, 16)


def _write_init(boot: Boot) -> None:
    """Write the script of process 1: it runs this Python, isolated, with our package and the lab's folders."""
    python = Path(sys.executable).resolve()
    if any(letter.isspace() for letter in str(python)) or len(os.fsencode(python)) > _MAX_PYTHON_BYTES:
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
