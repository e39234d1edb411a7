# SPDX-License-Identifier: MIT
"""The scenarios that come with mptcplab, by name: the examples, and those of the published studies.

A name is the path of the file below its folder, without the suffix: ``handover``, ``behaviour/backlog``,
``subramani2018/table-4.1``. Commands take ``@NAME`` in place of a file.
"""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass
from pathlib import Path

from mptcplab.errors import InputError
from mptcplab.scenario.extends import read
from mptcplab.shipped import shipped_folder

MARK = "@"
#: TOML files of the examples and of the studies that are data for scenarios, or describe a study.
_OTHER_FILES = frozenset({"study.toml", "source.toml", "beds.toml"})
_STUDIES = Path(__file__).resolve().parents[1] / "studies"
_SUGGESTIONS = 3


@dataclass(frozen=True)
class Example:
    """A scenario that comes with mptcplab."""

    name: str
    file: Path

    @property
    def title(self) -> str:
        """The title in the file, or in the scenario that it extends."""
        return str(read(self.file).tables.get("title", ""))


def list_examples() -> list[Example]:
    """Return all examples by name, and then the scenarios of the studies."""
    folder = shipped_folder("examples", "examples", proof="two-paths.toml")
    return [example for root in (folder, _STUDIES) if root is not None for example in _scenarios(root)]


def find_example(name: str) -> Path:
    """Return the file of the example ``name``. :raises InputError: if there is none of that name."""
    files = {example.name: example.file for example in list_examples()}
    if name in files:
        return files[name]
    near = difflib.get_close_matches(name, files, n=_SUGGESTIONS, cutoff=0.5)
    hint = f"did you mean {' or '.join(MARK + other for other in near)}?" if near else "`mptcplab examples` lists them"
    raise InputError(f"there is no example '{name}'", hint=hint)


def _scenarios(root: Path) -> list[Example]:
    """Return the scenarios below ``root``: TOML files with a title, or with another scenario to extend."""
    files = sorted(file for file in root.rglob("*.toml") if file.name not in _OTHER_FILES and _is_scenario(file))
    return [Example(str(file.relative_to(root).with_suffix("")), file) for file in files]


def _is_scenario(file: Path) -> bool:
    try:
        document = tomllib.loads(file.read_text())
    except (OSError, tomllib.TOMLDecodeError):
        return False
    return "title" in document or "extends" in document
