# SPDX-License-Identifier: MIT
"""Compiles the eBPF programs of ``bpf/`` on first use, for any kernel: the loader adapts them to the running one."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from mptcplab.cache import KEY_CHARS, cache_root, hold_lock, make_work_folder
from mptcplab.errors import InputError, LabError, MissingError, try_each
from mptcplab.kernel.data import data_dir
from mptcplab.prebuilt import find_shipped_folder

#: The congestion controls that have a program, `bpf/NAME.bpf.c`.
CONGESTION_CONTROLS = ("lia", "olia", "balia", "wvegas")
#: Debian's package of the headers that users' programs include.
LIBBPF = "libbpf-dev"
#: 32 bit operations (v3) are what the headers mostly have; kernels since 5.1 have them. Type information needs -g.
_FLAGS = ("-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-nostdinc")
#: Administrators' programs, which are not in the PATH of every root.
_SEARCH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))


def find_tool(name: str) -> Path:
    """Return the path of the program ``name``. :raises MissingError: with the Debian package of the same name."""
    path = shutil.which(name, path=_SEARCH)
    if path is None:
        raise MissingError(f"this machine has no '{name}'", subject=name, packages=(name,))
    return Path(path)


def find_missing_tools(*, with_headers: bool) -> Iterator[MissingError]:
    """Yield an error for each program that eBPF programs need: to compile them, and to read what they register.

    ``with_headers``: also for the headers of libbpf, which programs of users include, and ours do not.
    """
    errors = dict(try_each(find_tool, ("clang", "bpftool")))
    yield from errors.values()
    if with_headers and not _has_headers("clang" if "clang" not in errors else "gcc"):
        yield MissingError("this machine has no headers of libbpf", subject="headers of libbpf", packages=(LIBBPF,))


def _has_headers(compiler: str) -> bool:
    """Return whether ``compiler`` finds libbpf's headers; without that compiler it finds none."""
    command = [compiler, "-E", "-x", "c", "-"]
    try:
        done = subprocess.run(command, input=b"#include <bpf/bpf_helpers.h>\n", capture_output=True, check=False)
    except FileNotFoundError:
        return False
    return done.returncode == 0


def check_name(name: str) -> str:
    """Return ``name``, if a congestion control of that name has a program. :raises InputError: otherwise."""
    if name not in CONGESTION_CONTROLS:
        raise InputError(
            f"there is no eBPF program of '{name}'", hint=f"choose one of {', '.join(CONGESTION_CONTROLS)}"
        )
    return name


def source_folder() -> Path:
    """Return the folder with the programs' sources. :raises LabError: if this installation lacks it."""
    folder = find_shipped_folder("bpf", "bpf", proof="lia.bpf.c")
    if folder is None:
        hint = "install mptcplab again, or run it from a complete checkout"
        raise LabError("the sources of the eBPF programs are missing in this installation", hint=hint)
    return folder


def object_file(name: str) -> Path:
    """Return the compiled program of the congestion control ``name``.

    :raises InputError: if there is none. :raises MissingError: without clang. :raises LabError: if that fails.
    """
    check_name(name)
    folder = source_folder()
    version = subprocess.run([find_tool("clang"), "--version"], capture_output=True, check=False).stdout
    digest = hashlib.sha256(version + sources_digest().encode())
    made = cache_root() / "tools" / f"bpf-{digest.hexdigest()[:KEY_CHARS]}" / f"{name}.bpf.o"
    with hold_lock("bpf", cache_root()):
        if not made.is_file():
            compile_program(folder / f"{name}.bpf.c", made)
    return made


def sources_digest() -> str:
    """Return the hash of all sources of the programs, the algorithms' headers included."""
    files = sorted((*source_folder().rglob("*.[ch]"), *_headers().glob("coupled*.h")))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def _headers() -> Path:
    return data_dir() / "net/mptcp"


def compile_program(source: Path, made: Path) -> None:
    """Compile ``source`` to the file ``made``. :raises LabError: if that fails, with the command to see why."""
    with make_work_folder("bpf", cache_root()) as work:
        output = work / made.name
        folders = (word for folder in (source_folder(), _headers()) for word in ("-I", str(folder)))
        command = [str(find_tool("clang")), *_FLAGS, *folders, "-c", str(source), "-o", str(output)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise LabError(
                f"the eBPF program '{source.name}' does not compile", hint=f"to see why: {' '.join(command)}"
            )
        made.parent.mkdir(parents=True, exist_ok=True)
        os.rename(output, made)


if __name__ == "__main__":
    for congestion_control in CONGESTION_CONTROLS:
        print(object_file(congestion_control))
