# SPDX-License-Identifier: MIT
"""Identifies programs and their shared libraries by their contents.

Finding and reading them takes half as long as a short run, so the results are kept in the cache folder. Whatever a
result follows from is in the name of its file or in it: a file is what it was if its inode, size and times are.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from mptcplab.cache import cache_root
from mptcplab.files import write_text

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
