# SPDX-License-Identifier: MIT
"""docs/architecture.md names what is there: files, functions, classes, and every room of the package."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "src" / "mptcplab"
#: Where the page's paths begin; of two files with a path, the first is meant.
BASES = (PACKAGE, ROOT, *sorted((ROOT / "packages").glob("*/src")))
PAGE = re.sub(r"^```.*?^```$", "", (ROOT / "docs" / "architecture.md").read_text(), flags=re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"`((?:[\w.-]+/)*[\w.-]+?(?:/|\.(?:py|c|h|md|toml|txt|config|lab)|/[\w-]+))(?::([\w.]+))?`")
#: In the recording's folder, or of a form that stands for many.
_ELSEWHERE = {"mode_NAME.c", "study.toml", "table.md"}


def _list_names() -> list[tuple[str, str]]:
    return sorted({(path, name) for path, name in _NAMED.findall(PAGE) if path not in _ELSEWHERE})


def _find(path: str) -> Path:
    """The file or folder, where it exists."""
    return next((base / path for base in BASES if (base / path).exists()), PACKAGE / path)


def _list_definitions(body: list[ast.stmt], before: str = "") -> Iterator[str]:
    """Names of functions, classes, their members, and what a module is assigned."""
    for node in body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        yield from (before + target.id for target in targets if isinstance(target, ast.Name))
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield before + node.name
        if isinstance(node, ast.ClassDef):
            yield from _list_definitions(node.body, f"{before}{node.name}.")


def test_enough_is_named() -> None:
    assert len(_list_names()) > 100


@pytest.mark.parametrize(("path", "name"), _list_names())
def test_what_is_named_is_there(path: str, name: str) -> None:
    file = _find(path)
    assert file.exists(), f"{path}: in none of {BASES}"
    if name and file.suffix == ".py":
        assert name in set(_list_definitions(ast.parse(file.read_text()).body)), f"{path} has no {name}"
    elif name:
        assert re.search(rf"\b{name}\b", file.read_text()), f"{path} has no {name}"


def test_every_room_is_described() -> None:
    rooms = {f"{path.name}/" for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    rooms |= {file.name for file in PACKAGE.glob("*.py") if not file.name.startswith("__")}
    rooms |= {f"packages/{file.parent.name}/" for file in (ROOT / "packages").glob("*/pyproject.toml")}
    assert rooms - set(re.findall(r"\*\*`([\w/.-]+)`\*\*", PAGE)) == set()
