# SPDX-License-Identifier: MIT
"""The results of runs that were measured before, kept in the cache folder: measuring takes longer than many runs did.

A result follows from the files of a recording and from this package. So it is kept by their names, sizes and times, and
by a hash of all modules. Nothing in the folder of the recording changes, and whatever is not as it was is measured
again.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path

import mptcplab
from mptcplab.cache import cache_root
from mptcplab.capture.tshark import tshark_version
from mptcplab.errors import MissingError
from mptcplab.files import write_bytes
from mptcplab.metrics.rows import RunResult, Settings, run_result
from mptcplab.plugins import plugins
from mptcplab.recording.record import Recording

_FOLDER = "measured"
_DIGITS = 32


def cached_result(recording: Recording, settings: Settings | None = None) -> RunResult:
    """Return the result of one run as :func:`mptcplab.metrics.rows.run_result` does, measured now or before.

    Results are not kept while there are plugins, whose metrics may follow from anything.
    :raises LabError: if the recording is damaged, or a program's output is invalid.
    """
    file = None
    with suppress(OSError, MissingError):  # A file that went away, or a missing tshark, is reported by what needs it.
        file = None if plugins() else cache_root() / _FOLDER / _key(recording.folder)
    result = _read(file) if file is not None else None
    if result is None:
        result = run_result(recording)
        if file is not None:
            _keep(file, result)
    return result if settings is None else replace(result, settings=settings)


def warm_up() -> None:
    """Import what measuring needs, and hash the code: half of the time that the first result of a process takes."""
    import_module("numpy")
    _code()


def _key(folder: Path) -> str:
    """Return the name of a result: a hash of the code, and of the recording's files without reading them."""
    digest, files = hashlib.sha256(_code()), sorted(_files(folder))
    if any(".pcap" in name for name, _, _ in files):
        digest.update(_tshark().encode())
    for name, size, changed_ns in files:
        digest.update(f"{name}\0{size}\0{changed_ns}\0".encode())
    return digest.hexdigest()[:_DIGITS]


def _files(folder: Path, above: str = "") -> Iterator[tuple[str, int, int]]:
    """Yield the name, size and time of everything in a folder; :meth:`Path.rglob` takes four times as long."""
    with os.scandir(folder) as entries:
        for entry in entries:
            stat, name = entry.stat(), f"{above}{entry.name}"
            yield name, stat.st_size, stat.st_mtime_ns
            if entry.is_dir():
                yield from _files(folder / entry.name, f"{name}/")


@cache
def _code() -> bytes:
    digest = hashlib.sha256(sys.version.encode())
    for module in sorted(Path(mptcplab.__file__).parent.rglob("*.py")):
        digest.update(module.read_bytes())
    return digest.digest()


@cache
def _tshark() -> str:
    return tshark_version()


def _read(file: Path) -> RunResult | None:
    # What another version of Python or of a library wrote, or a killed process in part, is measured again.
    with suppress(OSError, pickle.UnpicklingError, EOFError, AttributeError, ImportError, TypeError, ValueError):
        load = pickle.loads(file.read_bytes())
        return load if isinstance(load, RunResult) else None
    return None


def _keep(file: Path, result: RunResult) -> None:
    with suppress(OSError):  # A result that cannot be kept is measured again.
        file.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(file, pickle.dumps(result))
