# SPDX-License-Identifier: MIT
"""Names in the code: functions are verbs or nouns, locals say what they hold, a class name is one thing."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import mptcplab

PACKAGE = Path(mptcplab.__file__).parent
SOURCES = [PACKAGE, *sorted(PACKAGE.parents[1].glob("packages/*/src/*"))]
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
    "meaning", "reading", "rating", "routing", "setting", "timing", "warning",
    "heading",
    "inline", "split",  # what `str` has, too
    "first", "last", "next",  # what iterators and collections have, too
    "whole",
}  # fmt: skip
_LOCALS = re.compile(r"one|found|own|(?:own|found|this)_\w+")


#: The nodes that these rules are about.
_Node = ast.FunctionDef | ast.ClassDef | ast.AnnAssign | ast.Name | ast.arg | ast.ExceptHandler


@cache
def _modules() -> list[tuple[Path, list[_Node]]]:
    """Return all modules, parsed once for all tests, with what binds a name in each."""
    files = [file for folder in SOURCES for file in sorted(folder.rglob("*.py"))]
    return [
        (file, [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, _Node)]) for file in files
    ]


def _name(file: Path) -> str:
    return "/".join(file.parts[file.parts.index("src") + 1 :])


def _is_property(function: ast.FunctionDef) -> bool:
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
        f"{_name(file)}:{node.name}"
        for file, nodes in _modules()
        for node in nodes
        if isinstance(node, ast.FunctionDef) and not _is_property(node) and _is_bad(node.name)
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
        f"{_name(file)}:{line}: {name}"
        for file, nodes in _modules()
        for line, name in _bind(nodes)
        if _LOCALS.fullmatch(name)
    ]
    assert bad == []


def test_class_name_is_one_thing() -> None:
    modules = defaultdict(set)
    for file, nodes in _modules():
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                modules[node.name].add(_name(file))
    assert {name: sorted(files) for name, files in modules.items() if len(files) > 2} == {}


def test_rule_finds_such_names() -> None:
    assert [name for name in ("drawn", "_merged", "writing", "of", "_again") if not _is_bad(name)] == []
    assert [name for name in ("build_figure", "_merge", "feed", "mean", "kind_of") if _is_bad(name)] == []
