# SPDX-License-Identifier: MIT
"""Sources of eBPF programs that a scenario names, with their content: a run depends on nothing outside of its plan."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from mptcplab.errors import Mistake, reason
from mptcplab.fields import Line, Part
from mptcplab.scenario.document import Document, ScenarioError

#: Endings of programs, each of which is compiled, and of the files that they include.
PROGRAM, HEADER = ".bpf.c", ".h"
_MAX_BYTES = 1 << 20
_KEY = "bpf"
_EXAMPLE = 'bpf = ["my-control.bpf.c"]'


class SourceFile(Part):
    """A file in C: a program, or a header beside it."""

    file: Line = Field(description="its name, relative to the scenario", examples=["my-control.bpf.c"])
    sha256: str = Field(description="digest of the file")
    #: Read when the scenario is loaded; elsewhere the digest represents it.
    text: SkipJsonSchema[str] = Field(exclude=True, repr=False)

    @property
    def name(self) -> str:
        """The name without folders, by which other files include it."""
        return Path(self.file).name


def read_sources(document: Document) -> Document:
    """Return ``document`` with what the files in ``bpf`` contain.

    :raises InputError: if it is not a list of names, or a file cannot be read or is neither a program nor a header.
    """
    names = document.tables.get(_KEY)
    if names is None:
        return document
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise document.error((_KEY,), "is not a list of files", hint=f"write {_EXAMPLE}", kind=Mistake.TYPE)
    sources = [_read(document, name) for name in names]
    seen = [Path(name).name for name in names]
    if len(set(seen)) < len(seen):
        twice = next(name for name in seen if seen.count(name) > 1)
        raise document.error((_KEY,), f"names '{twice}' twice", hint="give each file another name")
    if names and not any(name.endswith(PROGRAM) for name in names):
        hint = f"name the programs that include them as well: {_EXAMPLE}"
        raise document.error((_KEY,), "has only headers", hint=hint, kind=Mistake.IDLE)
    return document.with_value((_KEY,), sources)


def _read(document: Document, name: str) -> dict[str, Any]:
    if not name.endswith((PROGRAM, HEADER)):
        hint = f"use names that end in {PROGRAM} for programs, and in {HEADER} for what they include"
        raise _error(document, f"has a file of another kind, '{name}'", hint)
    file = document.locate((_KEY,), name, executes=True)
    try:
        content = file.read_bytes()
        text = content.decode()
    except OSError as error:
        hint = f"names are relative to the scenario: looked for {file}"
        raise _error(document, f"has '{name}', which cannot be read: {reason(error)}", hint) from error
    except UnicodeDecodeError as error:
        raise _error(document, f"has '{name}', which is not text", "name a file in C, not a compiled one") from error
    if len(content) > _MAX_BYTES:
        raise _error(document, f"has '{name}', which is too large", f"use at most {_MAX_BYTES >> 20} MiB")
    return {"file": name, "sha256": hashlib.sha256(content).hexdigest(), "text": text}


def _error(document: Document, message: str, hint: str) -> ScenarioError:
    return document.error((_KEY,), message, hint=hint, kind=Mistake.FILE)
