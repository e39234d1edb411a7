# SPDX-License-Identifier: MIT
"""Compiles the guest's modules into one file. A lab cannot write beside them, so each run would compile them again."""

from __future__ import annotations

import compileall
import hashlib
import marshal
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import mptcplab
from mptcplab.cache import cache_root
from mptcplab.files import write_bytes

_LOADER = "mptcplab.guest.modules"
_DIGITS = 32


@dataclass(frozen=True)
class Bundle:
    """All modules of the guest in one file. Its first ``head_bytes`` are the loader's code and the index."""

    content: bytes
    head_bytes: int


@cache
def compile_guest() -> None:
    """Write the bytecode of the guest's modules that is missing or old, as Python does where it imports them.

    Where that is not allowed, or not wanted (PYTHONDONTWRITEBYTECODE), programs of a lab that are modules of the guest
    take longer to start.
    """
    if sys.dont_write_bytecode:
        return
    compileall.compile_dir(Path(mptcplab.__file__).with_name("guest"), quiet=2)


@cache
def bundle_guest() -> Bundle:
    """Return the guest's modules as a file for :mod:`mptcplab.guest.modules`.

    Compiling them takes a fifth of a short run, so the result is kept in the cache folder, by the modules' texts.
    """
    sources = {name: (file, file.read_bytes()) for name, file in _modules()}
    kept = cache_root() / "code" / f"guest-{_key(sources)}"
    with suppress(OSError, ValueError, EOFError, TypeError):  # A file that cannot be read is made again.
        head_bytes, content = marshal.loads(kept.read_bytes())
        return Bundle(content, head_bytes)
    compile_guest()
    bundle = _compile(sources)
    with suppress(OSError):  # A result that cannot be kept is computed again.
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(kept, marshal.dumps((bundle.head_bytes, bundle.content)))
    return bundle


def _modules() -> Iterator[tuple[str, Path]]:
    """Yield names and files of the guest's modules and of the packages around them."""
    package = Path(mptcplab.__file__)
    yield "mptcplab", package
    for source in sorted(package.with_name("guest").glob("*.py")):
        yield "mptcplab.guest" if source.name == "__init__.py" else f"mptcplab.guest.{source.stem}", source


def _key(sources: Mapping[str, tuple[Path, bytes]]) -> str:
    """Return a hash of what the bytecode follows from: Python, the modules' texts, and their paths, which it has.

    Whether Python may write bytecode is part of it, so that :func:`compile_guest` is called once it may.
    """
    digest = hashlib.sha256(f"{sys.version}\0{sys.dont_write_bytecode}".encode())
    for file, text in sources.values():
        digest.update(f"\0{file}\0{len(text)}\0".encode() + text)
    return digest.hexdigest()[:_DIGITS]


def _compile(sources: Mapping[str, tuple[Path, bytes]]) -> Bundle:
    codes = {
        name: marshal.dumps(compile(text, str(file), "exec", dont_inherit=True))
        for name, (file, text) in sources.items()
    }
    index, start = {}, 0
    for name, code in codes.items():
        file, _ = sources[name]
        folder = str(file.parent) if file.name == "__init__.py" else ""
        index[name] = (str(file), start, len(code), folder)
        start += len(code)
    head = marshal.dumps((marshal.loads(codes[_LOADER]), index))
    return Bundle(head + b"".join(codes.values()), len(head))
