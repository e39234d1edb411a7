# SPDX-License-Identifier: MIT
"""The guest's files: an archive of programs of this machine and Python, which the kernel unpacks into memory.

The guest shares no files with this machine while it runs: each access would wait for QEMU.
"""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

from mptcplab.engine.tools import find_program

_ROOT = Path(__file__).resolve().parents[2]
#: The guest's search path for modules.
SEARCH_PATH = (str(_ROOT), str(_ROOT / "src"))
PYTHON = "/usr/bin/python3"
_PROGRAMS = ("ip", "tc", "ss", "nstat", "unshare", "sleep")
_FOLDERS = ("/dev", "/proc", "/run", "/sys", "/tmp")
#: All modules that the guest imports, and modules that Python imports by name.
_IMPORTS = """
import sys; sys.path[:0] = sys.argv[1:]
import tests.smp.guest.agent, tests.smp.guest.main, tests.smp.guest.talk, mptcplab.guest.system
import encodings.ascii, encodings.latin_1, json.encoder, traceback
print(*(m.__file__ for m in list(sys.modules.values()) if getattr(m, "__file__", None)), sep="\\n")
"""


def files(flow: Path) -> list[str]:
    """Return the programs, their libraries, and Python with the modules that the guest imports.

    :raises MissingError: for a program that this machine lacks.
    """
    programs = ["/bin/sh", PYTHON, str(flow), *(str(find_program(name)) for name in _PROGRAMS)]
    command = [PYTHON, "-IS", "-c", _IMPORTS, *SEARCH_PATH]
    modules = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    binaries = [*programs, *(name for name in modules if name.endswith(".so"))]
    linked = subprocess.run(["ldd", *binaries], capture_output=True, text=True, check=False).stdout
    libraries = {word for word in linked.split() if word.startswith("/") and not word.endswith(":")}
    return sorted({*programs, *modules, *libraries})


def archive(names: list[str]) -> bytes:
    """Return an archive of the files `names` and of the folders that they and the guest need.

    The format is cpio's "newc" (Documentation/driver-api/early-userspace/buffer-format.rst of the kernel).
    """
    folders = {
        str(parent) for name in (*names, *(f"{folder}/any" for folder in _FOLDERS)) for parent in Path(name).parents
    }
    entries = [*sorted(folders - {"/", "."}), *names, "TRAILER!!!"]
    return b"".join(part for number, name in enumerate(entries) for part in _entry(number, name, name in folders))


def _entry(number: int, name: str, is_folder: bool) -> Iterator[bytes]:
    path = Path(name)
    content = b"" if is_folder or not path.is_absolute() else path.read_bytes()
    executable = os.access(path, os.X_OK)
    mode = stat.S_IFDIR | 0o755 if is_folder else stat.S_IFREG | (0o755 if executable else 0o644)
    stored = name.lstrip("/").encode() + b"\0"
    # inode, mode, uid, gid, links, mtime, size, device and special device (two numbers each), name, checksum
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(stored), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields)
    yield _pad(head + stored)
    yield _pad(content)


def _pad(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
