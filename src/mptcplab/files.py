# SPDX-License-Identifier: MIT
"""Paths of files that a caller names; files that no reader sees half; and reports of files that cannot be written."""

from __future__ import annotations

import json
import os
import shlex
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mptcplab.errors import InputError, LabError, reason


def list_paths(files: str | Path | Iterable[str | Path], *, can_be_empty: bool = False) -> list[Path]:
    """Return the paths of some files, or of one: a single text is a name, and not a sequence of letters.

    :raises InputError: if there are none, unless the list ``can_be_empty``.
    """
    paths = [Path(file) for file in ([files] if isinstance(files, (str, Path)) else files)]
    if not paths and not can_be_empty:
        raise InputError("no file is named", hint="name at least one")
    return paths


def expand_home(name: str | Path) -> Path:
    """Return the path with the home folder in place of ``~``; as it is if it names an unknown user."""
    try:
        return Path(name).expanduser()
    except RuntimeError:
        return Path(name)


def write_text(file: Path, text: str) -> None:
    """Replace ``file`` atomically."""
    part = _temporary_path(file)
    part.write_text(text)
    part.rename(file)


def write_bytes(file: Path, content: bytes) -> None:
    """Replace ``file`` atomically."""
    part = _temporary_path(file)
    part.write_bytes(content)
    part.rename(file)


def check_new_file(file: Path) -> None:
    """Check that a command may write ``file``, before it asks for what to write.

    :raises InputError: if it exists, for a command with ``--force``, or if its folder does not.
    """
    if os.path.lexists(file):
        raise _exists(file)
    if not file.parent.exists():
        raise _lacks_folder(file)


def write_new_file(file: Path, text: str, *, force: bool) -> None:
    """Write a user's ``file`` completely or not at all. Without ``force``, a file that appeared meanwhile is kept.

    :raises InputError: if it exists, without ``force``, or cannot be written.
    """
    new = file.with_name(f".{file.name}.{os.getpid()}") if force else file
    try:
        try:
            with new.open("x", encoding="utf-8") as opened:
                opened.write(text)
        except FileExistsError as error:
            raise _exists(new) from error
        except OSError:
            new.unlink(missing_ok=True)
            raise
        if force:
            os.replace(new, file)
    except FileNotFoundError as error:
        raise _lacks_folder(file) from error
    except OSError as error:
        if force:
            new.unlink(missing_ok=True)
        raise InputError(f"{file}: {reason(error)}", hint="name another file or folder") from error


def _exists(file: Path) -> InputError:
    return InputError(f"{file} already exists", hint="name another file, or replace it with --force")


def _lacks_folder(file: Path) -> InputError:
    hint = f"mkdir -p {shlex.quote(str(file.parent))}"
    return InputError(f"there is no folder '{file.parent}' for {file.name}", hint=hint)


@contextmanager
def report_write_errors(folder: Path) -> Iterator[None]:
    """Turn an error that prevents results from being written into one sentence.

    :raises LabError: for every OSError inside.
    """
    try:
        yield
    except OSError as error:
        hint = "see `df` and `ls -ld`; the same command continues and keeps the recorded runs"
        raise LabError(f"{folder} cannot be written: {reason(error)}", hint=hint) from error


def _temporary_path(file: Path) -> Path:
    """Return a name for the parts of ``file`` that no other process or thread uses."""
    return file.with_name(f".{file.name}.{os.getpid()}.{threading.get_ident()}")


def format_json(value: Any, *, levels: int, indent: str = "") -> str:
    """Return JSON with the members of the outer ``levels`` on lines of their own, and everything below on one line.

    Keys are sorted. With an indentation, `json.dumps` would take ten times as long, since only its Python code indents.
    """
    if not levels or not value or not isinstance(value, (dict, list, tuple)):
        return json.dumps(value, sort_keys=True)
    inner = f"{indent} "
    if isinstance(value, dict):
        members = [
            f"{json.dumps(key)}: {format_json(value[key], levels=levels - 1, indent=inner)}" for key in sorted(value)
        ]
        return f"{{\n{inner}" + f",\n{inner}".join(members) + f"\n{indent}}}"
    members = [format_json(member, levels=levels - 1, indent=inner) for member in value]
    return f"[\n{inner}" + f",\n{inner}".join(members) + f"\n{indent}]"
