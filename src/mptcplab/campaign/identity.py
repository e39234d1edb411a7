# SPDX-License-Identifier: MIT
"""The identity of a run: everything that can change its result, and the hash that names its recording."""

from __future__ import annotations

import ast
import hashlib
import json
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import mptcplab
from mptcplab.cache import cache_root
from mptcplab.engine.tools import find_programs, fingerprint, library_fingerprints
from mptcplab.files import write_text
from mptcplab.plan.model import Plan
from mptcplab.recording.record import FORMAT
from mptcplab.scenario.load import Run
from mptcplab.scenario.schema import Scenario

_LENGTH = 16
#: Digits of the hash of the sources themselves, which names what is kept of them.
_EXACT_LENGTH = 32
#: Keys that do not change the run: texts for readers, and the kernel's name, which is one of several names of the same
#: build. The hash of that build is a separate fact.
_EXCLUDED_KEYS = {"title", "question", "kernel"}
#: The code that executes plans in the lab, turns the results into a recording, and describes it in the manifest.
_RECORDER = ("guest/*.py", "recording/*.py", "campaign/contract.py")
#: What describes gateways there, in runs that have some.
_GATEWAY_RECORDER = ("campaign/gateways.py",)
#: What describes radios there, likewise.
_RADIO_RECORDER = ("campaign/radios.py",)
#: Runs are prepared in threads. In Debian's Python 3.11, `ast.parse` may fail in two at once (CPython issue 106905).
_PARSER = threading.Lock()


@dataclass(frozen=True)
class Identity:
    """The facts that determine a run."""

    facts: dict[str, Any]

    @property
    def name(self) -> str:
        """The short hash of the facts, which is the name of the recording's folder."""
        text = json.dumps(self.facts, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:_LENGTH]


def identify(
    run: Run,
    plan: Plan,
    *,
    engine: str,
    kernel: Mapping[str, Any],
    tools: Mapping[str, Path],
    bpf: Mapping[str, str] | None = None,
) -> Identity:
    """Return the identity of ``run``; ``bpf`` has the digests of its compiled eBPF programs.

    :raises MissingError: if the plan uses a program that this machine lacks.
    """
    paths = {**find_programs(plan.uses, tools, dispensable=plan.dispensable), "python": Path(sys.executable)}
    return Identity(
        {
            "format": FORMAT,
            "mptcplab": mptcplab.__version__,
            "recorder": code_digest(_recorder(run.point.scenario)),
            "engine": engine,
            "kernel": dict(kernel),
            "programs": {name: fingerprint(path) for name, path in sorted(paths.items())},
            "libraries": library_fingerprints(tuple(sorted(paths.values()))),
            # A new key leaves recordings valid: what its default does is in the plan.
            "scenario": resolve_scenario(run, exclude_defaults=True),
            "plan_sha256": hashlib.sha256(plan.to_json().encode()).hexdigest(),
            "seed": run.seed,
            **({"bpf": dict(bpf)} if bpf else {}),
        }
    )


def _recorder(scenario: Scenario) -> tuple[str, ...]:
    """Return the patterns of the modules that make the recording of ``scenario``."""
    gateways = _GATEWAY_RECORDER if scenario.gateways else ()
    return (*_RECORDER, *gateways, *(_RADIO_RECORDER if scenario.has_radios else ()))


def resolve_scenario(run: Run, *, exclude_defaults: bool = False) -> dict[str, Any]:
    """Return the scenario of ``run`` with presets and references resolved, without keys that do not change results."""
    scenario = run.point.scenario
    text = scenario.model_dump_json(by_alias=True, exclude=_EXCLUDED_KEYS, exclude_defaults=exclude_defaults)
    document: dict[str, Any] = json.loads(text)
    return document


@cache
def code_digest(patterns: tuple[str, ...]) -> str:
    """Return the hash of the package's modules that match ``patterns``; comments and layout do not change it.

    Parsing takes longer than a short run needs to boot, so the result is kept in the cache folder.
    """
    package = Path(mptcplab.__file__).parent
    files = sorted(file for pattern in patterns for file in package.glob(pattern))
    sources = {str(file.relative_to(package)): file.read_text() for file in files}
    exact = hashlib.sha256(json.dumps([sys.version, sources]).encode()).hexdigest()
    kept = cache_root() / "code" / exact[:_EXACT_LENGTH]
    with suppress(OSError):
        return kept.read_text()
    digest = _digest_of_syntax(sources)
    with suppress(OSError):  # A result that cannot be kept is computed again.
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_text(kept, digest)
    return digest


def _digest_of_syntax(sources: Mapping[str, str]) -> str:
    """Return the hash of modules, by their names."""
    digest = hashlib.sha256()
    for name, source in sources.items():
        with _PARSER:
            syntax = _syntax(source)
        digest.update(f"{name}\0{syntax}".encode())
    return digest.hexdigest()[:_LENGTH]


def _syntax(source: str) -> str:
    """The syntax tree of a module, without what does not run: comments, layout and docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            del node.body[0]
    return ast.dump(tree)
