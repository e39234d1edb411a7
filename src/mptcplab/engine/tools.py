# SPDX-License-Identifier: MIT
"""The programs that labs run: ours come with `mptcplab-kernel`, or are compiled on first use and cached; the machine's
are found and identified."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from mptcplab.cache import KEY_CHARS, cache_root, hold_lock, make_work_folder
from mptcplab.engine.fingerprints import fingerprint
from mptcplab.errors import LabError, MissingError
from mptcplab.guest.nodes import PATH_MANAGER
from mptcplab.guest.sampler import SAMPLER
from mptcplab.prebuilt import find_usable_prebuilt
from mptcplab.proxies.catalog import built_program, recipe_of
from mptcplab.shipped import find_shipped_folder

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
_SEARCH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


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
