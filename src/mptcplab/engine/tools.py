# SPDX-License-Identifier: MIT
"""Programs that labs run: ours, compiled on first use and cached; the machine's, found and identified."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from mptcplab.errors import LabError, MissingError
from mptcplab.guest.nodes import PATH_MANAGER
from mptcplab.kernel.cache import cache_root, locked, work_dir
from mptcplab.shipped import shipped_folder
from mptcplab.workload.context import FLOW

#: Debian packages of the programs that plans use.
PACKAGES = {
    "ip": "iproute2",
    "tc": "iproute2",
    "nstat": "iproute2",
    "ethtool": "ethtool",
    "nft": "nftables",
    "sysctl": "procps",
    "iperf3": "iperf3",
    "mptcpize": "mptcpize",
    "socat": "socat",
    "curl": "curl",
    "lighttpd": "lighttpd",
    "vsftpd": "vsftpd",
    "xargs": "findutils",
    "truncate": "coreutils",
    "ping": "iputils-ping",
    "tcpdump": "tcpdump",
    "tshark": "tshark",
    "gcc": "gcc",
    "make": "make",
}
_SEARCH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def find_program(name: str) -> Path:
    """Where the guest will find ``name``. :raises MissingError: naming the package that has it."""
    found = shutil.which(name, path=_SEARCH)
    if found is None:
        hint = f"sudo apt-get install {PACKAGES.get(name, name)}"
        raise MissingError(f"this machine has no '{name}'", hint=hint)
    return Path(found)


@cache
def fingerprint(path: Path) -> str:
    """SHA-256 of a program's file, shortened: enough to tell versions apart."""
    return hashlib.sha256(path.resolve().read_bytes()).hexdigest()[:16]


#: Libraries that a program loads without being linked to them.
_PRELOADED = {"mptcpize": "mptcpize/libmptcpwrap.so*"}


@cache
def library_fingerprints(paths: tuple[Path, ...]) -> dict[str, str]:
    """Fingerprints of all shared libraries that the programs at ``paths`` are linked to, by file name."""
    done = subprocess.run(["ldd", *map(str, paths)], capture_output=True, text=True, env={"PATH": _SEARCH})
    # Headings ("/usr/sbin/ip:") name the programs; all other paths are libraries.
    libraries = {word for word in done.stdout.split() if word.startswith("/") and not word.endswith(":")}
    libraries -= set(map(str, paths))
    extra = {str(file) for path in paths if path.name in _PRELOADED for file in _preloaded(_PRELOADED[path.name])}
    return {Path(library).name: fingerprint(Path(library)) for library in sorted(libraries | extra)}


def _preloaded(pattern: str) -> list[Path]:
    return sorted(file for folder in Path("/usr/lib").glob("*-linux-gnu*") for file in folder.glob(pattern))


def programs_of(commands: Iterable[tuple[str, ...]]) -> list[str]:
    """Names of the machine's programs that ``commands`` start, also behind ``mptcpize run`` and ``sh -c``."""
    known = set(PACKAGES)
    names: dict[str, None] = {}
    for argv in commands:
        words = [word for argument in argv for word in argument.split()] if argv[0] == "sh" else list(argv[:3])
        names |= {word: None for word in words if word in known or word == argv[0]}
    return sorted(name for name in names if name not in (FLOW, PATH_MANAGER))


def flow_program() -> Path:
    """Our workload program, compiled when its source or the compiler changed.

    :raises MissingError: without a compiler. :raises LabError: when it does not compile.
    """
    source = _flow_source()
    compiler = find_program("gcc")
    digest = hashlib.sha256(fingerprint(compiler).encode())
    for file in sorted([*source.glob("*.[ch]"), source / "Makefile"]):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    program = cache_root() / "tools" / f"flow-{digest.hexdigest()[:12]}" / "flow"
    if not program.is_file():
        _compile(source, program)
    return program


def _flow_source() -> Path:
    folder = shipped_folder("flow", "tools/flow", proof="Makefile")
    if folder is None:
        raise LabError("the source of `flow` is missing", hint="install mptcplab again, or use a complete checkout")
    return folder


def _compile(source: Path, program: Path) -> None:
    root = cache_root()
    with locked("flow", root), work_dir("flow", root) as work:
        if program.is_file():
            return
        command = [str(find_program("make")), "-C", str(source), f"OUT={work / 'flow'}/"]
        done = subprocess.run(command, capture_output=True, text=True, env={"PATH": _SEARCH, "LC_ALL": "C.UTF-8"})
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise LabError(f"`flow` does not compile: {last}", hint=f"try it: {' '.join(command)}")
        program.parent.parent.mkdir(parents=True, exist_ok=True)
        os.rename(work / "flow", program.parent)
