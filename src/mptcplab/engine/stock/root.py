# SPDX-License-Identifier: MIT
"""The guest's files: an archive in the machine's memory, which the kernel unpacks before it starts process 1.

It has the programs that the plan uses at the paths that they have on this machine, their libraries, Python with the
modules that the guest imports, and the kernel's modules. A file system of this machine would answer at its own pace, so
two runs would differ. Our own modules have a path of the machine's, so that the runs of two checkouts are the same.
"""

from __future__ import annotations

import hashlib
import importlib.util
import marshal
import os
import stat
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from mptcplab.cache import KEY_CHARS, cache_root, hold_lock, make_work_folder
from mptcplab.engine.stock.start import PACKAGE
from mptcplab.engine.tools import libraries_of
from mptcplab.errors import LabError

#: Files that programs read without being linked to them: of all programs, and patterns by program.
_OF_ALL = (
    *("/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hosts", "/etc/services", "/etc/protocols"),
    *("/etc/ld.so.cache", "/etc/host.conf", "/etc/gai.conf"),
)
_OF_PROGRAMS = {
    "ip": ("/etc/iproute2/*", "/usr/share/iproute2/*"),
    # netem's distributions. The lab's own are found by a path that leads out of this folder, which must exist.
    "tc": ("/usr/lib/tc/*.dist", "/usr/lib/*-linux-gnu/tc/*.dist"),
    # Matches and targets of rules, even RETURN.
    **dict.fromkeys(("iptables", "ip6tables"), ("/usr/lib/*-linux-gnu/xtables/*.so",)),
    "lighttpd": ("/usr/lib/lighttpd/*.so", "/etc/mime.types"),
    "vsftpd": ("/etc/pam.d/*", "/etc/security/*", "/lib/*-linux-gnu/security/pam_*.so", "/etc/shells", "/etc/shadow"),
    "openvpn": ("/usr/lib/*-linux-gnu/openvpn/plugins/*", "/usr/lib/ssl/openssl.cnf", "/etc/ssl/openssl.cnf"),
    "openssl": ("/usr/lib/ssl/openssl.cnf", "/etc/ssl/openssl.cnf", "/usr/lib/*-linux-gnu/ossl-modules/*"),
}
_FOLDERS = ("/dev", "/etc", "/proc", "/run", "/sys", "/tmp", "/var")
_MAX_BASES = 4
#: All that the guest imports, early or late, and what Python imports by name.
_IMPORTS = """
import sys; sys.path.insert(0, sys.argv[1])
import importlib, pkgutil, mptcplab.guest, mptcplab.engine.stock.start
for module in pkgutil.iter_modules(mptcplab.guest.__path__): importlib.import_module(f"mptcplab.guest.{module.name}")
import encodings.ascii, encodings.latin_1, encodings.idna, linecache, os, site, socket, stat, traceback
print(*(m.__file__ for m in list(sys.modules.values()) if getattr(m, "__file__", None)), os.__file__, sep="\\n")
"""
#: Parts of the standard library that no program in a lab needs, and that are large.
_NOT_IN_LABS = frozenset({"test", "tests", "idlelib", "tkinter", "lib2to3", "ensurepip", "turtledemo", "dist-packages"})


def python() -> Path:
    """Return the interpreter that the guest uses: this one, outside of its virtual environment."""
    return Path(sys.executable).resolve()


def program_files(programs: Mapping[str, Path]) -> set[Path]:
    """Return the files of ``programs``: themselves, their libraries, the files that they read, and interpreters."""
    paths = set(programs.values())
    paths |= {interpreter for path in paths if (interpreter := _interpreter(path)) is not None}
    data = {file for name in programs for pattern in _OF_PROGRAMS.get(name, ()) for file in _glob(pattern)}
    binaries = tuple(sorted(paths | {file for file in data if ".so" in file.name}))
    return paths | data | libraries_of(binaries) | {Path(file) for file in _OF_ALL if Path(file).is_file()}


def _glob(pattern: str) -> Iterator[Path]:
    return (file for file in Path("/").glob(pattern.lstrip("/")) if file.is_file())


def _interpreter(path: Path) -> Path | None:
    """Return the interpreter of a script; None for other programs."""
    with path.open("rb") as file:
        line = file.readline(256)
    return Path(line[2:].split()[0].decode()) if line.startswith(b"#!") else None


def archive(files: Mapping[str, tuple[bytes, bool]], folders: Iterable[str] = ()) -> bytes:
    """Return an archive of ``files`` with their folders: contents by absolute path, and whether they are programs.

    ``folders`` are further ones, which are empty.

    The format is cpio's "newc" (Documentation/driver-api/early-userspace/buffer-format.rst of the kernel).
    """
    texts = {*folders, *(str(parent) for name in files for parent in Path(name).parents)} - {"/"}
    parts = [part for number, name in enumerate(sorted(texts)) for part in _entry(number, name, None, True)]
    for number, (name, (content, executable)) in enumerate(sorted(files.items()), start=len(texts)):
        parts += _entry(number, name, content, executable)
    parts += _entry(0, "TRAILER!!!", b"", False)
    return b"".join(parts)


def _entry(number: int, name: str, content: bytes | None, executable: bool) -> Iterator[bytes]:
    """Yield an entry; without ``content`` it is a folder."""
    mode = (stat.S_IFDIR if content is None else stat.S_IFREG) | (0o755 if executable else 0o644)
    stored = name.lstrip("/").encode() + b"\0"
    # inode, mode, uid, gid, links, mtime, size, device and special device (two numbers each), name, checksum
    fields = (number, mode, 0, 0, 1, 0, len(content or b""), 0, 0, 0, 0, len(stored), 0)
    yield _pad(b"070701" + b"".join(b"%08X" % field for field in fields) + stored)
    yield _pad(content or b"")


def _pad(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def contents(paths: Iterable[Path]) -> dict[str, tuple[bytes, bool]]:
    """Return ``paths`` with their contents, for :func:`archive`. Links become files."""
    return {str(path): (path.read_bytes(), os.access(path, os.X_OK)) for path in paths}


def base_files(source: Path, *, whole_library: bool) -> frozenset[Path]:
    """Return the files of Python and the guest in the folder ``source``, which every run has.

    With ``whole_library`` that is all of the standard library, for programs in Python.
    """
    return frozenset(_python_files(source, python(), whole_library))


def base_archive(source: Path, *, whole_library: bool) -> Path:
    """Return the archive of these files; built again only if one of them changed."""
    files = _python_files(source, python(), whole_library)
    digest = hashlib.sha256(b"stock base 2")
    for path in files:
        digest.update(f"{path}\0{path.stat().st_size}\0{path.stat().st_mtime_ns}\0".encode())
    root = cache_root()
    target = root / "stock-base" / f"{digest.hexdigest()[:KEY_CHARS]}.cpio"
    with hold_lock("stock-base", root):
        if target.is_file():
            target.touch()
            return target
        with make_work_folder("stock-base", root) as work:
            (work / "base").write_bytes(archive(dict(_archive_entries(files, source)), _FOLDERS))
            target.parent.mkdir(exist_ok=True)
            os.rename(work / "base", target)
        for old in sorted(target.parent.iterdir(), key=lambda file: file.stat().st_mtime)[:-_MAX_BASES]:
            old.unlink()
    return target


def _archive_entries(files: Iterable[Path], source: Path) -> Iterator[tuple[str, tuple[bytes, bool]]]:
    """Yield files by their path in the machine, with their contents.

    Python's sources are compiled: that takes long in the machine. Those below ``source`` have a path of their own.
    """
    for path in files:
        inside = Path(PACKAGE, path.relative_to(source)) if path.is_relative_to(source) else path
        if path.suffix == ".py":
            yield str(inside.with_suffix(".pyc")), (_bytecode(path, inside), False)
        else:
            yield str(inside), (path.read_bytes(), os.access(path, os.X_OK))


def _bytecode(source: Path, inside: Path) -> bytes:
    """Return a module compiled, in the form that Python loads without its source (PEP 552, unchecked hash).

    ``inside`` is its path in the machine.
    """
    code = compile(source.read_bytes(), str(inside), "exec", dont_inherit=True, optimize=0)
    return importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8) + marshal.dumps(code)


@cache
@cache
def _python_files(source: Path, interpreter: Path, whole_library: bool) -> tuple[Path, ...]:
    """Return the interpreter, the modules that the guest imports, and all their libraries."""
    done = subprocess.run([interpreter, "-IS", "-c", _IMPORTS, source], capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"Python at {interpreter} cannot import the guest", hint=done.stderr.strip())
    modules = {Path(line).resolve() for line in done.stdout.split()}
    if whole_library:
        library = Path(os.__file__).resolve().parent
        paths = (file for pattern in ("*.py", "*.so") for file in library.rglob(pattern))
        modules |= {file for file in paths if not _NOT_IN_LABS & set(file.relative_to(library).parts)}
    binaries = (interpreter, *(file for file in modules if ".so" in file.name))
    return tuple(sorted({interpreter, *modules, *libraries_of(tuple(sorted(binaries)))}))
