# SPDX-License-Identifier: MIT
"""The scenarios that come with mptcplab, by name: the examples, and the published studies' scenarios.

A name is the path of the file below its folder, without the suffix: ``handover``, ``behaviour/backlog``,
``subramani2018/table-4.1``. Commands take ``@NAME`` in place of a file.
"""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass
from pathlib import Path

from mptcplab.errors import InputError
from mptcplab.prebuilt import STUDY_DESCRIPTIONS, find_shipped_folder
from mptcplab.scenario.extends import read

MARK = "@"
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
    return [
        Example(str(file.relative_to(root).with_suffix("")), file)
        for root in _roots()
        for file in sorted(root.rglob("*.toml"))
        if _is_scenario(file)
    ]


def find_example(name: str) -> Path:
    """Return the file of the example ``name``. :raises InputError: if there is none of that name."""
    for root in _roots():
        file = root / f"{name}.toml"
        if ".." not in file.parts and _is_scenario(file):
            return file
    names = [example.name for example in list_examples()]
    near = difflib.get_close_matches(name, names, n=_SUGGESTIONS, cutoff=0.5)
    hint = f"did you mean {' or '.join(MARK + other for other in near)}?" if near else "`mptcplab examples` lists them"
    raise InputError(f"there is no example '{name}'", hint=hint)


def _roots() -> list[Path]:
    """Return the folders of the examples and of the studies, as far as they are there."""
    folder = find_shipped_folder("examples", "examples", proof="two-paths.toml")
    return [root for root in (folder, _STUDIES) if root is not None]


def _is_scenario(file: Path) -> bool:
    """Return whether a file is a scenario: TOML with a title, or with another scenario to extend."""
    try:
        document = tomllib.loads(file.read_text())
    except (OSError, tomllib.TOMLDecodeError):
        return False
    return file.name not in STUDY_DESCRIPTIONS and ("title" in document or "extends" in document)
