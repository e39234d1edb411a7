# SPDX-License-Identifier: MIT
"""The examples of docs/python.md, divided into examples that run labs and the others, and a folder with their files."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
UNIT = ROOT / "tests/unit"
PAGE = ROOT / "docs/python.md"
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Functions that run labs, or need a lab kernel.
_LABS = re.compile(
    r"api\.(?:run|execute_runs|run_twin|reproduce|reproduce_beds|prepare_command|examine|find_kernel|prepare_selftests)\("
)
_COMMON = "from pathlib import Path\n\nfrom mptcplab import api\n"


@dataclass(frozen=True)
class Example:
    """One block of the page: its text, the line at which it begins, and the heading above it."""

    text: str
    line: int
    heading: str

    @property
    def needs_lab(self) -> bool:
        """Whether it runs labs, or needs a lab kernel."""
        return _LABS.search(self.text) is not None

    def execute(self, names: dict[str, Any]) -> None:
        """Execute it with the names of the blocks before it, and add its own."""
        blank = "\n" * self.line  # so that errors name the line of the page
        exec(compile(f"{blank}{self.text}", str(PAGE), "exec"), names)


def list_examples() -> list[Example]:
    """Return all examples in the order of the page."""
    text = PAGE.read_text()
    return [
        Example(match[1], text[: match.start()].count("\n") + 1, _heading(text[: match.start()]))
        for match in _BLOCK.finditer(text)
    ]


def new_names() -> dict[str, Any]:
    """Return the names that every example can use."""
    names: dict[str, Any] = {}
    exec(_COMMON, names)
    return names


def function_calls() -> Iterator[tuple[str, list[str]]]:
    """Yield the functions in the first columns of tables, each with the names of its arguments."""
    for name, arguments in re.findall(r"^\| `(\w+)\(([^)]*)\)` \|", PAGE.read_text(), re.MULTILINE):
        yield name, [argument.strip().removesuffix("=") for argument in arguments.split(",") if argument.strip()]


def copy_files(folder: Path) -> None:
    """Copy the files that the examples name into ``folder``."""
    (folder / "examples").symlink_to(ROOT / "examples")
    for name in ("client", "server"):
        shutil.copy(UNIT / f"collections/not-accepted/{name}.tar.gz", folder)
    shutil.copy(UNIT / "captures/any-sll2.pcap", folder / "client.pcap")
    shutil.copy(UNIT / "imports/report.sh", folder / "setup.sh")


def _heading(before: str) -> str:
    return str(re.findall(r"^#+ (.*)$", before, re.MULTILINE)[-1])
