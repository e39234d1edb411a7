# SPDX-License-Identifier: MIT
"""Compiles the guest's modules. A lab cannot write beside them, so each run would compile them again."""

from __future__ import annotations

import compileall
import importlib.util
import marshal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import mptcplab

_LOADER = "mptcplab.guest.modules"
#: Before the code in a file of bytecode (PEP 552): a magic number, flags, and time and size of the source.
_HEAD_BYTES = 16


@dataclass(frozen=True)
class Bundle:
    """All modules of the guest in one file. Its first ``head_bytes`` are the loader's code and the index."""

    content: bytes
    head_bytes: int


@cache
def compile_guest() -> None:
    """Write the bytecode of the guest's modules that is missing or old, as Python does where it imports them.

    Where that is not allowed, or not wanted (PYTHONDONTWRITEBYTECODE), labs take longer to start.
    """
    if sys.dont_write_bytecode:
        return
    compileall.compile_dir(Path(mptcplab.__file__).with_name("guest"), quiet=2)


@cache
def bundle_guest() -> Bundle:
    """Return the guest's modules as a file for :mod:`mptcplab.guest.modules`."""
    compile_guest()
    codes = {name: (source, _bytecode(source)) for name, source in _modules()}
    index, start = {}, 0
    for name, (source, code) in codes.items():
        folder = str(source.parent) if source.name == "__init__.py" else ""
        index[name] = (str(source), start, len(code), folder)
        start += len(code)
    head = marshal.dumps((marshal.loads(codes[_LOADER][1]), index))
    return Bundle(head + b"".join(code for _, code in codes.values()), len(head))


def _modules() -> Iterator[tuple[str, Path]]:
    """Yield names and files of the guest's modules and of the packages around them."""
    package = Path(mptcplab.__file__)
    yield "mptcplab", package
    for source in sorted(package.with_name("guest").glob("*.py")):
        yield "mptcplab.guest" if source.name == "__init__.py" else f"mptcplab.guest.{source.stem}", source


def _bytecode(source: Path) -> bytes:
    """Return the code of a module: what Python has written beside it if that is current, or else compiled here."""
    try:
        written = Path(importlib.util.cache_from_source(str(source))).read_bytes()
    except OSError:
        written = b""
    stat = source.stat()
    expected = (0, int(stat.st_mtime) & 0xFFFFFFFF, stat.st_size & 0xFFFFFFFF)
    head = b"".join(number.to_bytes(4, "little") for number in expected)
    if written[:_HEAD_BYTES] == importlib.util.MAGIC_NUMBER + head:
        return written[_HEAD_BYTES:]
    return marshal.dumps(compile(source.read_bytes(), str(source), "exec", dont_inherit=True))
