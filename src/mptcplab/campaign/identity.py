# SPDX-License-Identifier: MIT
"""What a run is: everything that can change its result, and the hash of it that names its recording."""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import mptcplab
from mptcplab.engine.tools import find_programs, fingerprint, library_fingerprints
from mptcplab.plan.model import Plan
from mptcplab.recording.record import FORMAT
from mptcplab.scenario.load import Run

_LENGTH = 16
#: Words for people: correcting them does not make another run. The kernel's is one of several names of the same
#: build, whose hash is a fact of its own.
_WORDS = {"title", "question", "kernel"}
#: What executes plans in the lab, turns what it leaves into a recording, and says in the manifest what that is of.
_RECORDER = ("guest/*.py", "recording/*.py", "campaign/contract.py")


@dataclass(frozen=True)
class Identity:
    """The facts that determine a run, and their hash."""

    facts: dict[str, Any]

    @property
    def name(self) -> str:
        """Short hash; the name of the recording's folder."""
        text = json.dumps(self.facts, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:_LENGTH]


def identify(run: Run, plan: Plan, *, engine: str, kernel: Mapping[str, Any], tools: Mapping[str, Path]) -> Identity:
    """The identity of ``run``. :raises MissingError: when the plan uses a program that this machine lacks."""
    paths = {**find_programs(plan.uses, tools), "python": Path(sys.executable)}
    return Identity(
        {
            "format": FORMAT,
            "mptcplab": mptcplab.__version__,
            "recorder": _recorder_digest(),
            "engine": engine,
            "kernel": dict(kernel),
            "programs": {name: fingerprint(path) for name, path in sorted(paths.items())},
            "libraries": library_fingerprints(tuple(sorted(paths.values()))),
            "scenario": json.loads(run.point.scenario.model_dump_json(by_alias=True, exclude=_WORDS)),
            "plan_sha256": hashlib.sha256(plan.to_json().encode()).hexdigest(),
            "seed": run.seed,
        }
    )


@cache
def _recorder_digest() -> str:
    """Hash of the code that measures and writes: a change there may change what is recorded."""
    digest = hashlib.sha256()
    package = Path(mptcplab.__file__).parent
    for file in sorted(file for pattern in _RECORDER for file in package.glob(pattern)):
        digest.update(f"{file.relative_to(package)}\0{_syntax(file.read_text())}".encode())
    return digest.hexdigest()[:_LENGTH]


def _syntax(source: str) -> str:
    """The syntax tree of a module, without what does not run: comments, layout and docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            del node.body[0]
    return ast.dump(tree)
