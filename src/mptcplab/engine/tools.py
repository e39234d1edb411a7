# SPDX-License-Identifier: MIT
"""The programs that labs run: ours, compiled on first use, the file of the steering daemon; and their fingerprints."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import time
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

import mptcplab
from mptcplab.cache import KEY_CHARS, cache_root, hold_lock, make_work_folder
from mptcplab.errors import LabError, MissingError
from mptcplab.files import write_text
from mptcplab.guest.nodes import PATH_MANAGER
from mptcplab.guest.sampler import SAMPLER
from mptcplab.prebuilt import find_shipped_folder, find_usable_prebuilt
from mptcplab.proxies.catalog import built_program, recipe_of

# Identifies programs and their shared libraries by their contents.
#
# Finding and reading them takes half as long as a short run, so the results are kept in the cache folder. Whatever a
# result follows from is in the name of its file or in it: a file is what it was if its inode, size and times are.

_SEARCH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#: Where the dynamic linker looks libraries up.
_LINKER_CACHE = Path("/etc/ld.so.cache")
#: Libraries that programs load without being linked to them: patterns relative to the program's folder.
_LOADED = {"mptcpize": "../lib/*-linux-gnu*/mptcpize/libmptcpwrap.so*", "flow": "flow-sockopt.so"}
_LENGTH = 16
_KEY_LENGTH = 32
#: Two changes of a file within one tick of the clock give it the same times, so a file must be older than this.
_SETTLED_NS = 2 * 10**9


@cache
def fingerprint(path: Path) -> str:
    """Return the shortened SHA-256 of a program's file, which distinguishes its versions."""
    file = path.resolve()
    kept = _place("file", _signature(file))
    with suppress(OSError):
        digest = kept.read_text()
        if len(digest) == _LENGTH:
            return digest
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:_LENGTH]
    if _is_settled([file]):
        _keep(kept, digest)
    return digest


@cache
def libraries_of(paths: tuple[Path, ...]) -> frozenset[Path]:
    """Return all shared libraries of the programs at ``paths``, with the libraries that they load by name."""
    return frozenset(_linked_libraries(paths) | set(_loaded_libraries(paths)))


@cache
def library_fingerprints(paths: tuple[Path, ...]) -> dict[str, str]:
    """Return fingerprints of all shared libraries of the programs at ``paths``, by file name."""
    return {library.name: fingerprint(library) for library in sorted(libraries_of(paths))}


def _linked_libraries(paths: tuple[Path, ...]) -> set[Path]:
    """Return what `ldd` prints, or printed while programs, libraries and the linker's cache were the same."""
    kept = _place("libraries", *(_signature(path) for path in (*paths, _LINKER_CACHE)))
    with suppress(OSError, ValueError, AttributeError):
        signatures = dict(json.loads(kept.read_text()))
        if all(_signature(Path(library)) == signature for library, signature in signatures.items()):
            return set(map(Path, signatures))
    done = subprocess.run(["ldd", *map(str, paths)], capture_output=True, text=True, env={"PATH": _SEARCH})
    # Headings ("/usr/sbin/ip:") name the programs; all other paths are libraries.
    words = (word for word in done.stdout.split() if word.startswith("/") and not word.endswith(":"))
    libraries = set(map(Path, words)) - set(paths)
    if _is_settled([*paths, *libraries, _LINKER_CACHE]):
        _keep(kept, json.dumps({str(library): _signature(library) for library in sorted(libraries)}))
    return libraries


def _loaded_libraries(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if path.name in _LOADED:
            yield from path.parent.glob(_LOADED[path.name])


def _signature(file: Path) -> str:
    """Return text that changes with the content of ``file``; for a missing file it says so."""
    try:
        stat = os.stat(file)
    except OSError:
        return f"{file} missing"
    return f"{file} {stat.st_dev} {stat.st_ino} {stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns}"


def _is_settled(files: Iterable[Path]) -> bool:
    """Return whether a change from now on will change the signatures of ``files``."""
    now = time.time_ns()
    return all(not file.exists() or file.stat().st_ctime_ns < now - _SETTLED_NS for file in files)


def _place(kind: str, *signatures: str) -> Path:
    digest = hashlib.sha256("\0".join((kind, *signatures)).encode())
    return cache_root() / "code" / f"{kind}-{digest.hexdigest()[:_KEY_LENGTH]}"


def _keep(place: Path, text: str) -> None:
    with suppress(OSError):  # A result that cannot be kept is computed again.
        place.parent.mkdir(parents=True, exist_ok=True)
        write_text(place, text)


# The programs that labs run: ours come with `mptcplab-kernel`, or are compiled on first use and cached; the machine's
# are found and identified.

#: The programs that compile our own programs.
BUILDERS = ("gcc", "make")
#: Our programs that every run has.
_OURS = ("flow", "sampler")
#: Debian packages of programs whose package has another name; kinds of nodes, gateways and workloads add theirs.
_PACKAGES = {
    **dict.fromkeys(("ip", "tc", "nstat", "ss"), "iproute2"),
    **dict.fromkeys(
        ("cat", "chmod", "head", "ls", "mkdir", "mkfifo", "rm", "timeout", "seq", "sleep", "truncate", "yes"),
        "coreutils",
    ),
    "ip6tables": "iptables",
    "ping": "iputils-ping",
    "setsid": "util-linux",
    "sh": "dash",
    "ss-tunnel": "shadowsocks-libev",
    "sysctl": "procps",
}


def find_program(name: str) -> Path:
    """Return the path at which the guest finds ``name``.

    :raises MissingError: naming the package that has it, or the command that builds it.
    """
    # The machine's own program of a name that we build has another version than the pinned one.
    recipe = recipe_of(name)
    path = built_program(recipe, name) if recipe is not None else shutil.which(name, path=_SEARCH)
    if path is not None:
        return Path(path)
    message = f"this machine has no '{name}'"
    if recipe is None:
        raise MissingError(message, subject=name, packages=(package_of(name),))
    raise MissingError(message, subject=recipe.name, command=f"mptcplab gateways build {recipe.name}")


def find_programs(
    names: Iterable[str], tools: Mapping[str, Path], *, dispensable: Collection[str] = ()
) -> dict[str, Path]:
    """Return the path of each program that plans name: from ``tools`` if it is ours, else from the machine.

    The path manager is left out, since it is part of the guest. ``dispensable`` programs that the machine
    lacks are left out, too.
    :raises MissingError: if the machine lacks another program.
    """
    paths: dict[str, Path] = {}
    for name in names:
        if name == PATH_MANAGER or (name in dispensable and not has_program(name)):
            continue
        paths[name] = tools[name] if name in tools else find_program(name)
    return paths


def has_program(name: str) -> bool:
    """Return whether the machine has the program ``name``."""
    try:
        find_program(name)
    except MissingError:
        return False
    return True


def package_of(name: str) -> str:
    """Return the Debian package of the program ``name``."""
    from mptcplab.gateway.registry import PROGRAMS  # late, because these imports take long
    from mptcplab.node.registry import NODE_KINDS
    from mptcplab.workload.registry import KINDS

    of_nodes = [kind.packages for kind in NODE_KINDS.values()]
    of_gateways = [program.packages for program in PROGRAMS.values()]
    known = [_PACKAGES, *of_nodes, *of_gateways, *(kind.packages for kind in KINDS.values())]
    return next((packages[name] for packages in known if name in packages), name)


def flow_program() -> Path:
    """Return the path of our workload program, compiled again if its source or the compiler changed.

    :raises MissingError: without a compiler. :raises LabError: if it does not compile.
    """
    return _build_program("flow")


def radio_program() -> Path:
    """Return the path of our medium of simulated radios, compiled again if its source or the compiler changed.

    :raises MissingError: without a compiler. :raises LabError: if it does not compile.
    """
    return _build_program("radio")


def sampler_program() -> Path:
    """Return the path of the program that samples sockets and queues, compiled again if its source or the compiler
    changed.

    :raises MissingError: without a compiler. :raises LabError: if it does not compile.
    """
    return _build_program("sampler")


def compile_tools() -> dict[str, Path]:
    """Return our programs that any plan can use, by their names there; compiled if they are not.

    :raises MissingError: without a compiler. :raises LabError: if one does not compile.
    """
    from mptcplab.workload.context import FLOW  # late, because this import takes long

    return {FLOW: flow_program(), SAMPLER: sampler_program()}


def static_flow_program() -> Path:
    """Return the path of our workload program without shared libraries, which also runs on other machines.

    :raises MissingError: without a compiler. :raises LabError: if it does not compile.
    """
    return _build_program("flow", static=True)


def prebuilt_program(name: str) -> Path | None:
    """Return the path of our program ``name`` in `mptcplab-kernel`; None if that is not installed, cannot run here, or
    was compiled from another source.

    Programs without shared libraries are not in it.
    """
    prebuilt = find_usable_prebuilt()
    return None if prebuilt is None else prebuilt.program(name, source_digest(source_folder(name)))


def needs_compiler() -> bool:
    """Return whether our programs, which every run has, are compiled on this machine: `mptcplab-kernel` lacks one."""
    return not all(prebuilt_program(name) for name in _OURS)


def source_digest(source: Path) -> str:
    """Return a hash of the source of one of our programs, in the folder ``source``."""
    return _digest(source).hexdigest()


def _digest(source: Path, before: bytes = b"") -> hashlib._Hash:
    digest = hashlib.sha256(before)
    for file in sorted([*source.glob("*.[ch]"), source / "Makefile"]):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest


def _build_program(name: str, *, static: bool = False) -> Path:
    if not static and (installed := prebuilt_program(name)) is not None:
        return installed
    source = source_folder(name)
    before = fingerprint(find_program("gcc")).encode() + (b"static" if static else b"")
    key = _digest(source, before).hexdigest()[:KEY_CHARS]
    program = cache_root() / "tools" / f"{name}-{key}" / name
    if not program.is_file():
        _compile(source, program, static=static)
    return program


def source_folder(name: str) -> Path:
    """Return the folder with the source of our program ``name``. :raises LabError: if this installation lacks it."""
    folder = find_shipped_folder(name, f"tools/{name}", proof="Makefile")
    if folder is None:
        raise LabError(f"the source of `{name}` is missing", hint="install mptcplab again, or use a complete checkout")
    return folder


def compile_source(source: Path, out: Path, arguments: Sequence[str] = ()) -> None:
    """Compile the program in the folder ``source`` to the folder ``out``, with further ``arguments`` of make.

    :raises MissingError: without a compiler. :raises LabError: if it does not compile.
    """
    find_program("gcc")
    command = [str(find_program("make")), "-C", str(source), f"OUT={out}/", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env={"PATH": _SEARCH, "LC_ALL": "C.UTF-8"})
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise LabError(f"`{out.name}` does not compile: {last}", hint=f"to see all errors: {' '.join(command)}")


def _compile(source: Path, program: Path, *, static: bool) -> None:
    root, name = cache_root(), program.name
    with hold_lock(name, root), make_work_folder(name, root) as work:
        if program.is_file():
            return
        # a static program alone, since a library cannot be static
        compile_source(source, work / name, ["LDFLAGS=-static", f"{work / name}/{name}"] if static else [])
        program.parent.parent.mkdir(parents=True, exist_ok=True)
        os.rename(work / name, program.parent)


# The steering daemon and its agent as one executable file, which needs nothing but Python.

_NAME = "steer"
#: The interpreter of the system, isolated from the environment and without packages.
_HEAD = b"#!/usr/bin/python3 -IS\n"
#: Modules of the package that both sides need, beside all of ``steering``.
_OTHERS = (
    "errors.py",
    "guest/netlink.py",
    "guest/mptcp_pm.py",
)
#: The modules' packages, whose own modules import what is not in the archive.
_EMPTY = ("mptcplab/__init__.py", "mptcplab/guest/__init__.py")
_MAIN = """\
import sys
from mptcplab.steering.program import main
sys.exit(main(sys.argv[1:]))
"""


def steer_program() -> Path:
    """Return the path of the program, made again if its source changed."""
    content = archive()
    program = cache_root() / "tools" / f"{_NAME}-{hashlib.sha256(content).hexdigest()[:KEY_CHARS]}" / _NAME
    if not program.is_file():
        root = cache_root()
        with hold_lock(_NAME, root), make_work_folder(_NAME, root) as work:
            if not program.is_file():
                (work / "tool").mkdir()
                made = work / "tool" / _NAME
                made.write_bytes(content)
                made.chmod(0o755)
                program.parent.parent.mkdir(parents=True, exist_ok=True)
                os.rename(work / "tool", program.parent)
    return program


def archive() -> bytes:
    """Return the file: an archive that Python runs. Equal sources give equal bytes."""
    source = Path(mptcplab.__file__).parent
    modules = [*sorted((source / "steering").rglob("*.py")), *(source / name for name in _OTHERS)]
    texts = {"__main__.py": _MAIN, **dict.fromkeys(_EMPTY, "")}
    texts |= {f"mptcplab/{module.relative_to(source)}": module.read_text() for module in modules}
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        for name, text in texts.items():
            file.writestr(zipfile.ZipInfo(name), text)
    return _HEAD + data.getvalue()
