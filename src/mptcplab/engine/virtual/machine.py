# SPDX-License-Identifier: MIT
"""The lab kernel as a process of this machine: its command line, its virtual clock, its exit.

The kernel runs pinned to one CPU: its processes take turns, and every turn is several times slower if they move between
CPUs.
"""

from __future__ import annotations

import contextlib
import os
import re
import struct
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mptcplab.cache import cache_root
from mptcplab.engine.bytecode import bundle_guest
from mptcplab.engine.process import GuestProcess
from mptcplab.engine.report import package_folder
from mptcplab.engine.tools import find_programs
from mptcplab.engine.virtual.heap import HeapMover, fixed_addresses
from mptcplab.errors import InputError, MissingError
from mptcplab.kernel import KernelBuild
from mptcplab.plan.model import USUAL_MEMORY_BYTES

#: 2025-01-01 00:00:00 UTC: the wall clock of every lab at boot.
WALL_CLOCK_NS = 1_735_689_600 * 10**9
_MAX_MAPPINGS = Path("/proc/sys/vm/max_map_count")
#: More than all pages of a lab's memory.
_ENOUGH_MAPPINGS = 1 << 20
#: hostfs accepts names of up to 4096 bytes, which include the names of files in the recording.
_MAX_FOLDER_BYTES = 3000
#: A script's first line is limited, see BINPRM_BUF_SIZE.
_MAX_PYTHON_BYTES = 240
#: Environment variable: whether user code may run in the lab kernel's own process, the kernel's parameter `inproc=`.
INPROC = "MPTCPLAB_INPROC"
_INPROC_MODES = ("auto", "off", "on")


@dataclass(frozen=True)
class LabBoot:
    """The parameters of a lab kernel's start.

    ``folder`` is the only host folder that the guest can write. ``source`` is the folder of our package. ``exposed``
    are folders that the guest must see although they are below /tmp or /run. ``terminal`` is a socket that becomes the
    guest's /dev/tty1. ``memory`` is the guest's, in bytes. ``is_trusted`` says that no program of the lab is expected
    to write wildly, so that all may run in the kernel's own process on a CPU without protection keys, too.
    """

    kernel: KernelBuild
    seed: int
    cpu: int
    folder: Path
    source: Path
    exposed: tuple[Path, ...] = ()
    terminal: int | None = None
    memory: int = USUAL_MEMORY_BYTES
    is_trusted: bool = False


class LabMachine(GuestProcess):
    """A running lab kernel. Use it as a context manager, which kills the kernel at its end."""

    def __init__(self, boot: LabBoot) -> None:
        _write_init(boot)
        self._clock_address = virtual_clock_address(boot.kernel)
        with fixed_addresses() as is_fixed:
            super().__init__(
                [str(boot.kernel.executable), *_arguments(boot)],
                cpus={boot.cpu},
                folder=boot.folder,
                environment=_environment(boot.memory),
                passed=() if boot.terminal is None else (boot.terminal,),
                tracer=None if is_fixed else HeapMover(boot.kernel.executable),
            )

    def virtual_ns(self) -> int | None:
        """Return the virtual clock, read from the kernel's memory without help of the guest; None after its exit."""
        try:
            with open(f"/proc/{self.pid}/mem", "rb", buffering=0) as memory:
                memory.seek(self._clock_address)
                return int(struct.unpack("=Q", memory.read(8))[0])
        except (OSError, struct.error):
            return None

    def cause_of_stall(self) -> str | None:
        """Return that a program has used up the memory mappings of a process of this machine, if one has.

        Each program is a process here, and pages of the lab's memory that are not neighbours are mappings of their own.
        Without a free one, the program's next access to memory is tried for ever.
        """
        limit = int(_MAX_MAPPINGS.read_text())
        if not any(_mappings(pid) >= limit for pid in _processes(self.pid)):
            return None
        return (
            f"a program in the lab has {limit} memory mappings, and this machine allows a process no more; "
            f"`sudo sysctl -w vm.max_map_count={_ENOUGH_MAPPINGS}` does"
        )


def starts_at_fixed_addresses(kernel: KernelBuild) -> bool:
    """Return whether labs start at the same addresses each time: by the usual call, or by moving the heap."""
    with fixed_addresses() as is_fixed:
        if is_fixed:
            return True
        mover = HeapMover(kernel.executable)
        command = [str(kernel.executable), "--version"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, preexec_fn=mover.prepare)
        mover.follow(process.pid)
        process.wait()
        return mover.has_moved


def _processes(session: int) -> Iterator[int]:
    """Yield the processes of a session."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.getsid(int(folder.name)) == session:
                yield int(folder.name)


def _mappings(pid: int) -> int:
    try:
        return Path(f"/proc/{pid}/maps").read_bytes().count(b"\n")
    except OSError:
        return 0


def _environment(memory: int) -> dict[str, str]:
    """Return the kernel's environment. TMPDIR is where UML maps the guest's memory from an unlinked file."""
    return {"PATH": os.environ.get("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"), "TMPDIR": str(memory_folder(memory))}


def memory_folder(memory: int = USUAL_MEMORY_BYTES) -> Path:
    """Return the folder for a file with ``memory`` bytes of a guest, which is mapped executable.

    It is /dev/shm, or a disk if that is too small (as in Docker) or mounted noexec. The file grows as the guest uses
    its memory. If it cannot grow, the lab dies, so there must be space for all of it.
    :raises MissingError: if there is no such folder.
    """
    folders = dict(_memory_folders())
    for folder, free in folders.items():
        if free >= memory:
            return folder
    most_free = max(folders.values(), default=0)
    if most_free:
        needs = f"{memory >> 20} MiB of a lab's memory; at most {most_free >> 20} MiB are free"
        hint = "enlarge /dev/shm (docker run --shm-size=2g), or set TMPDIR"
        raise MissingError(f"no temporary folder has space for the {needs}", hint=hint)
    hint = "mount /dev/shm or /tmp without noexec, or set TMPDIR"
    raise MissingError("no temporary folder allows executable memory mappings", hint=hint)


def free_for_memory() -> int:
    """Return the bytes that are free in the folder that would hold the largest lab's memory."""
    return max(dict(_memory_folders()).values(), default=0)


def _memory_folders() -> Iterator[tuple[Path, int]]:
    """Yield the folders for guests' memory in the order of preference, with their free bytes."""
    for folder in (Path("/dev/shm"), Path(os.environ.get("TMPDIR", "/tmp")), Path("/var/tmp")):
        with contextlib.suppress(OSError):
            place = os.statvfs(folder)
            if not place.f_flag & os.ST_NOEXEC and os.access(folder, os.W_OK):
                yield folder, place.f_bavail * place.f_frsize


def _memory_argument(memory: int) -> str:
    """Return the kernel's parameter. Linux mixes its text into its random numbers, so the text for 1 GiB is kept."""
    return "mem=1G" if memory == USUAL_MEMORY_BYTES else f"mem={memory >> 20}M"


@cache
def virtual_clock_address(kernel: KernelBuild) -> int:
    """Return the address of ``time_travel_time`` (arch/um/kernel/time.c) in the kernel's fixed address space."""
    try:
        symbols = kernel.system_map.read_text()
    except OSError as error:
        raise MissingError(f"kernel {kernel.release} has no System.map", hint="mptcplab kernel build") from error
    # A regular expression over all 60,000 lines would take ten times as long.
    line = symbols.partition(" time_travel_time\n")[0].rpartition("\n")[2]
    match = re.fullmatch(r"([0-9a-f]+) .", line)
    if match is None:
        hint = "mptcplab kernel build"
        raise MissingError(f"kernel {kernel.release} was built without time travel", hint=hint)
    return int(match[1], 16)


def check_folder(folder: Path) -> None:
    """Check that a lab can use ``folder`` for its files. :raises InputError: if it cannot."""
    name = str(folder)
    if "," in name or not name.isprintable():
        # The guest mounts the folder with its name as a mount option, and commas separate options.
        hint = "use a folder without commas and control characters in its name"
        raise InputError(f"the lab kernel cannot use the folder {name!r}", hint=hint)
    if len(os.fsencode(name)) > _MAX_FOLDER_BYTES:
        raise InputError(f"the path '{name}' is too long for the lab kernel", hint="use a shorter one")


def _arguments(boot: LabBoot) -> list[str]:
    """Return the kernel's command line, which is the same for every run of a kernel and seed.

    Linux mixes its command line into its random numbers.
    """
    return [
        *_inproc_argument(boot),
        _memory_argument(boot.memory),
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
        # Two radios that no lab uses would take a tenth of the boot.
        "mac80211_hwsim.radios=0",
        *(["seccomp=on"] if _has_seccomp(boot.kernel) else []),
    ]


def _inproc_argument(boot: LabBoot) -> list[str]:
    """Return the parameter that decides where user code runs; nothing for the kernel's own choice.

    A kernel that knows the parameter keeps it out of the command line that it mixes into its random numbers. If a
    kernel does not know it, programs run outside anyway.
    :raises InputError: if the environment variable has another value.
    """
    mode = os.environ.get(INPROC, "auto")
    if mode not in _INPROC_MODES:
        hint = f"set it to one of {', '.join(_INPROC_MODES)}, or unset it"
        raise InputError(f"{INPROC} is '{mode}', which is not a mode", hint=hint)
    if mode == "auto" and boot.is_trusted:
        mode = "on"
    if mode == "auto" or not has_inproc(boot.kernel):
        return []
    return [f"inproc={mode}"]


@cache
def has_inproc(kernel: KernelBuild) -> bool:
    """Return whether user code can run in the process of ``kernel``."""
    try:
        return "CONFIG_UML_INPROC=y\n" in (kernel.path / "config").read_text()
    except OSError:
        return False


def _has_seccomp(kernel: KernelBuild) -> bool:
    """Return whether the kernel has fast system calls by seccomp, which Linux 6.16 introduced."""
    major, minor = (int(part) for part in kernel.version.split(".")[:2])
    return (major, minor) >= (6, 16)


def _write_init(boot: LabBoot) -> None:
    """Write the script of process 1: it runs this Python, isolated, with our package and the lab's folders."""
    python = Path(sys.executable).resolve()
    if any(letter.isspace() for letter in str(python)) or len(os.fsencode(python)) > _MAX_PYTHON_BYTES:
        hint = "install mptcplab with a Python whose path is short and has no blanks"
        raise InputError(f"the lab kernel cannot start the Python at '{python}'", hint=hint)
    bundle, modules = bundle_guest(), boot.folder / "modules"
    modules.write_bytes(bundle.content)
    lines = (
        f"#!{python} -IS",
        "import marshal, os, sys",
        f"sys.path.insert(0, {str(boot.source)!r})",
        f"modules = os.open({str(modules)!r}, os.O_RDONLY | os.O_CLOEXEC)",
        f"loader, index = marshal.loads(os.pread(modules, {bundle.head_bytes}, 0))",
        "exec(loader)",
        f"install(modules, {bundle.head_bytes}, index)",
        "from mptcplab.guest.init import main",
        f"main({str(boot.folder)!r}, {[str(path) for path in boot.exposed]!r})",
    )
    init = boot.folder / "init"
    init.write_text("\n".join(lines) + "\n")
    init.chmod(0o755)


# The programs of this machine that a lab can start.

#: Where a distribution, or root, installs programs.
_SYSTEM_FOLDER = Path("/usr")

#: What the guest starts in the place of a program that this machine lacks, to report that the kernel refuses a command.
REFUSED = package_folder() / "mptcplab" / "engine" / "virtual" / "refused"


def find_lab_programs(
    names: Iterable[str], tools: Mapping[str, Path], *, dispensable: Collection[str]
) -> dict[str, Path]:
    """Return the path of each program that the guest may start; see :func:`mptcplab.engine.tools.find_programs`.

    :raises MissingError: if the machine lacks a program that is not ``dispensable``.
    """
    paths = find_programs(names, tools, dispensable=dispensable)
    return paths | dict.fromkeys(set(dispensable) - paths.keys(), REFUSED)


def are_trusted(programs: Mapping[str, Path], tools: Mapping[str, Path]) -> bool:
    """Return whether all ``programs`` belong to the system, were built by us, or are ours, the ``tools``.

    Scenarios start programs of this kind only. A program of a user's own, which may be one in development, is started
    by a plugin or by `mptcplab exec`.
    """
    places = (_SYSTEM_FOLDER, cache_root().resolve(), package_folder())
    return all(
        name in tools or any(path.resolve().is_relative_to(place) for place in places)
        for name, path in programs.items()
    )
