# SPDX-License-Identifier: MIT
"""Names in all Python: functions are verbs or nouns, classes nouns; locals say what they hold; a class is one thing.

Modules outside of the packages are nouns or verbs, too. A test module named after a module of a package follows it.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

import mptcplab

PACKAGE = Path(mptcplab.__file__).parent
SOURCES = [PACKAGE, *sorted(PACKAGE.parents[1].glob("packages/*/src/*"))]
ROOT = Path(__file__).resolve().parents[3]
#: Python outside of the packages: tests, tools and studies.
OTHERS = [ROOT / name for name in ("bench", "tests", "tools", "validation", "website")]
OTHERS += sorted(ROOT.glob("packages/*/tests"))
_FOLDERS = tuple(f"{folder.relative_to(ROOT)}/" for folder in OTHERS)
_PARTICIPLE = re.compile(r".+(?:[^e]ed|ing)")
_IRREGULAR = """
begun bound broken brought built caught chosen done drawn driven fallen felt found given gone grown heard held
hidden kept known laid left lent lost made meant paid said seen sent shown shrunk sold spent split struck sunk
taken thrown told torn understood woven written
"""
#: Words that stand for nothing without a noun.
_OTHERS = """
about above after again against all alone along also always any apart around at back before behind below
beside best between beyond both by each early else every few fewer fine first fresh from full half here in
inside invalid its largest last late later latest least left less little longest low many more most near
nearest never new next no not nothing now of off on once one only onto other others our ours out outside over
own possible raw ready same several short silent single smallest some such than that there these this through
to together too under unsafe until up us usable usual very what when where which why wide with within without
"""
#: Verbs and nouns that look like participles, or that stand for themselves.
_VERBS = {
    "feed",  # a verb
    "find_spec", "exec_module",  # Python's protocol of importers
    "need", "reseed", "seed", "speed", "shed",
    "bring", "ping", "ring", "string",
    "heading", "mapping", "meaning", "ranking", "rating", "reading", "recording", "routing", "sampling", "setting",
    "steering", "timing", "warning",
    "semicoupled",  # a congestion control
    "inline", "split",  # what `str` has, too
    "first", "last", "next",  # what iterators and collections have, too
    "whole",
}  # fmt: skip
#: Nouns that a class may have as its whole name.
_NOUNS = {"beginning", "bound", "drawing", "finding", "shaping"}
_LOCALS = re.compile(r"one|found|own|(?:own|found|this)_\w+")


#: The nodes that bind names.
_Node = ast.AnnAssign | ast.Name | ast.arg | ast.ExceptHandler
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTION = re.compile(r"^\s*(?:async )?def (\w+)", re.MULTILINE)
_CLASS = re.compile(r"^\s*class (\w+)", re.MULTILINE)
#: What a binding of such a local looks like, and much else: a file without it need not be parsed.
_BINDING = re.compile(rf"\b(?:{_LOCALS.pattern})\s*(?:[],):=]|in\b|$)", re.MULTILINE)


@cache
def _modules() -> list[tuple[str, str]]:
    """Return the paths and texts of all modules. To parse them all takes ten times as long as to search them."""
    files = [file for folder in (*SOURCES, *OTHERS) for file in sorted(folder.rglob("*.py"))]
    return [(_path(file), file.read_text()) for file in files]


def _path(file: Path) -> str:
    """Return a file's path in the repository; of a module of a package, its path in the package."""
    return "/".join(file.parts[file.parts.index("src") + 1 :]) if _is_source(file) else str(file.relative_to(ROOT))


def _is_source(file: Path) -> bool:
    return any(file.is_relative_to(folder) for folder in SOURCES)


def _is_property(function: _Function) -> bool:
    return any(re.search(r"property|\.setter", ast.unparse(decorator)) for decorator in function.decorator_list)


def _is_bad(name: str) -> bool:
    """Return whether a function's name is neither a verb nor a noun: a participle, an adverb, or a preposition."""
    words = name.strip("_").split("_")
    if len(words) > 1 or words[0] in _VERBS or name.startswith("__"):
        return False
    word = words[0]
    return bool(_PARTICIPLE.fullmatch(word)) or word in _IRREGULAR.split() or word in _OTHERS.split()


def test_functions_are_no_participles() -> None:
    bad = [
        f"{path}:{node.name}"
        for path, text in _modules()
        if any(map(_is_bad, _FUNCTION.findall(text)))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, _Function) and not _is_property(node) and _is_bad(node.name)
    ]
    assert bad == []


def _bind(nodes: Sequence[_Node]) -> Iterator[tuple[int, str]]:
    """Yield line and name of what functions, modules and classes bind, without fields that have no value."""
    fields = {id(node.target) for node in nodes if isinstance(node, ast.AnnAssign) and node.value is None}
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in fields:
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.ExceptHandler) and node.name:
            yield node.lineno, node.name


def test_locals_say_what_they_hold() -> None:
    bad = [
        f"{path}:{line}: {name}"
        for path, text in _modules()
        if _BINDING.search(text)
        for line, name in _bind([node for node in ast.walk(ast.parse(text)) if isinstance(node, _Node)])
        if _LOCALS.fullmatch(name)
    ]
    assert bad == []


def test_classes_are_no_participles() -> None:
    bad = [
        f"{path}:{name}"
        for path, text in _modules()
        for name in _CLASS.findall(text)
        if _is_bad(_snake_case(name)) and name.strip("_").lower() not in _NOUNS
    ]
    assert bad == []


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def test_class_name_is_one_thing() -> None:
    """Classes of packages are counted apart from classes of tests, tools and studies: they never meet in a module."""
    modules = defaultdict(set)
    for path, text in _modules():
        for name in _CLASS.findall(text):
            modules[name, path.startswith(_FOLDERS)].add(path)
    assert {name: sorted(paths) for (name, _), paths in modules.items() if len(paths) > 2} == {}


def test_modules_are_no_participles() -> None:
    sources = {file.stem for folder in SOURCES for file in folder.rglob("*.py")}
    names = {path: Path(path).stem.removeprefix("test_") for path, _ in _modules() if path.startswith(_FOLDERS)}
    assert [path for path, name in names.items() if name not in sources and _is_bad(name)] == []


def test_rule_finds_such_names() -> None:
    assert [name for name in ("drawn", "_merged", "writing", "of", "_again") if not _is_bad(name)] == []
    assert [name for name in ("Drawn", "_Marked", "Now") if not _is_bad(_snake_case(name))] == []
    assert [name for name in ("build_figure", "_merge", "feed", "mean", "kind_of") if _is_bad(name)] == []
    assert [name for name in ("Reading", "PreparedCall", "_FlowDirection") if _is_bad(_snake_case(name))] == []


@pytest.mark.parametrize(
    "text",
    [
        "one = 1",
        "one, two = 1, 2",
        "two, one = 1, 2",
        "for one in (): ...",
        "x = [one for one in ()]",
        "lambda one: 1",
        "def f(*, own=1): ...",
        "def f(\n    own\n): ...",
        "one: int = 1",
        "with open('x') as found: ...",
        "if found := 1: ...",
        "[one] = [1]",
        "found_rules = 1",
        "try: ...\nexcept ValueError as one: ...",
    ],
)
def test_search_finds_what_is_then_parsed(text: str) -> None:
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, _Node)]
    assert [name for _, name in _bind(nodes) if _LOCALS.fullmatch(name)]
    assert _BINDING.search(text)
