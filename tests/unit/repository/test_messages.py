# SPDX-License-Identifier: MIT
"""Every message for users, found in the source, is one sentence in one style, with a hint.

The rules: no capital at the start unless the word always has one; no full stop at the end and none in the middle;
no line break; a hint in the same style; user input is in quotes.
"""

from __future__ import annotations

import ast
import re
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import click
import pytest

from mptcplab.cli.main import commands, explain_usage
from mptcplab.errors import InputError
from mptcplab.results import open_results

ROOT = Path(__file__).resolve().parents[3]
SOURCES = [ROOT / "src" / "mptcplab", *sorted(ROOT.glob("packages/*/src/*"))]
#: Errors that a user sees: message first, `hint=` beside it. `error` is Document.error: path, message, hint.
_ERRORS = {
    "LabError",
    "InputError",
    "MissingError",
    "CommandError",
    "UnitError",
    "ScenarioError",
    "error",
    "_error",
    "_complain",
}
#: Message first, hint second.
_MODEL_ERRORS = {"invalid", "conflict", "idle"}
#: The guest's own, whose hint the host adds.
_WITHOUT_HINT = {"GuestError"}
#: Words that always begin with a capital.
_NAMES = (
    "MPTCP",
    "TCP",
    "TOML",
    "Linux",
    "Debian",
    "IPv",
    "UTF",
    "UNIX",
    "Ctrl",
    "JSON",
    "Python",
    "HTML",
    "SIG",
    "NAME",
)
_CALLED = _ERRORS | _MODEL_ERRORS | _WITHOUT_HINT
#: Any of these calls; `make check` keeps the parenthesis next to the name.
_CALL = re.compile(rf"\b({'|'.join(_CALLED)})\(")
_HOLE = "\N{OBJECT REPLACEMENT CHARACTER}"


@dataclass(frozen=True)
class Output:
    """A call with a message; holes represent inserted values. None if the text is made elsewhere."""

    place: str
    message: str | None
    hint: str | None
    needs_hint: bool


def _text(node: ast.expr | None) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else _hole(part) for part in node.values)
        return "".join(map(str, parts))
    return None


def _hole(part: ast.expr) -> str:
    """Return a placeholder for an inserted value; in quotes for ``!r`` or ``show``; "path" for a path."""
    value = ast.unparse(part.value) if isinstance(part, ast.FormattedValue) else ""
    quoted = isinstance(part, ast.FormattedValue) and part.conversion in (ord("r"), ord("a"))
    if quoted or value.startswith("show"):
        return f"'{_HOLE}'"
    return "path" if re.search(r"\b(file|folder|out|path|scenario|_out)$", value) else _HOLE


def _name(call: ast.Call) -> str:
    function = call.func
    return (
        function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""
    )


def _branches(node: ast.expr | None) -> list[ast.expr | None]:
    """Return both texts of a conditional expression or an ``or``."""
    if isinstance(node, ast.IfExp):
        return [*_branches(node.body), *_branches(node.orelse)]
    if isinstance(node, ast.BoolOp):
        return [branch for value in node.values for branch in _branches(value)]
    return [node]


def _local(node: ast.expr | None, scope: dict[str, list[ast.expr]]) -> list[ast.expr | None]:
    """Return the values that the source assigns to a local variable."""
    exceptions: list[ast.expr | None] = []
    for branch in _branches(node):
        known = scope.get(branch.id, []) if isinstance(branch, ast.Name) else []
        exceptions += [part for value in known for part in _branches(value)] or [branch]
    return exceptions


def _assignments(function: ast.AST) -> dict[str, list[ast.expr]]:
    """Return the values that a function, or a module, assigns to each of its variables."""
    values: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            values.setdefault(node.targets[0].id, []).append(node.value)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
            for target, value in zip(node.targets[0].elts, getattr(node.value, "elts", []), strict=False):
                if isinstance(target, ast.Name):
                    values.setdefault(target.id, []).append(value)
    return values


def _calls(file: Path) -> Iterator[Output]:
    text = file.read_text()
    if not _CALL.search(text):
        return
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    calls = [node for node in nodes if isinstance(node, ast.Call) and _name(node) in _CALLED]
    functions = [(node, node.lineno, node.end_lineno or 0) for node in nodes if isinstance(node, ast.FunctionDef)]
    for function, first_line, last_line in (*functions, (tree, 1, len(text.splitlines()))):
        inside = [call for call in calls if first_line <= call.lineno <= last_line]
        scope = _assignments(function) if inside else {}
        for call in inside:
            outputs = list(_outputs(file, call, scope))
            yield from outputs
            if outputs:
                calls.remove(call)


def _outputs(file: Path, call: ast.Call, scope: dict[str, list[ast.expr]]) -> Iterator[Output]:
    name = _name(call)
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    # What a MissingError is told of packages or a command makes its hint.
    hints = [given[key] for key in ("hint", "command", "packages") if key in given][:1]
    if name in _MODEL_ERRORS and len(call.args) >= 2:
        message, hints = call.args[0], [call.args[1]]
    elif name in _ERRORS and (hints or name not in ("error", "_error", "_complain")) and call.args:
        message = call.args[1 if name == "error" else -1]
    elif name in _WITHOUT_HINT and call.args:
        message = call.args[0]
    else:
        return
    place = f"{file.relative_to(ROOT)}:{call.lineno}"
    texts = [_text(part) for part in _local(message, scope)]
    for number, text in enumerate(texts):
        hint = hints[0] if hints and number == 0 else None
        for branch in _local(hint, scope) if hint is not None else [None]:
            yield Output(place, text, _text(branch), bool(name not in _WITHOUT_HINT and not hints))


@cache
def _all_outputs() -> list[Output]:
    return [output for source in SOURCES for file in sorted(source.rglob("*.py")) for output in _calls(file)]


def _messages() -> list[tuple[str, str]]:
    return [(output.place, output.message) for output in _all_outputs() if output.message]


def _hints() -> list[tuple[str, str]]:
    return [(output.place, output.hint) for output in _all_outputs() if output.hint]


@pytest.mark.slow
def test_there_are_many() -> None:
    print(f"{len(_messages())} messages, {len(_hints())} hints")
    assert len(_messages()) > 150
    assert len(_hints()) > 150


def _starts_low(text: str) -> bool:
    return not text[:1].isupper() or text.startswith(_NAMES)


def test_messages_begin_low() -> None:
    assert [output for output in _messages() if not _starts_low(output[1])] == []


def test_messages_are_one_sentence_without_a_full_stop() -> None:
    wrong = [(place, text) for place, text in _messages() if text.rstrip().endswith((".", "!", ":")) or "\n" in text]
    wrong += [(place, text) for place, text in _messages() if re.search(r"[a-z]\. [A-Z]", text)]
    assert wrong == []


def test_hints_are_there() -> None:
    """Only an interruption by the user needs no hint."""
    lacking = [output for output in _all_outputs() if output.needs_hint and output.message not in ("interrupted", None)]
    assert lacking == []


def test_hints_are_in_the_same_style() -> None:
    assert [output for output in _hints() if not _starts_low(output[1])] == []
    assert [output for output in _hints() if output[1].rstrip().endswith((".", "!"))] == []


def test_user_input_is_quoted() -> None:
    """Check messages about things that do not exist or are not as they should be."""
    bare = re.compile(rf"there is no [a-z ]*{_HOLE}(?! ')|^{_HOLE} (is not|does not|has no|cannot|is no)\b|'{_HOLE}$")
    assert [(place, text.replace(_HOLE, "...")) for place, text in _messages() if bare.search(text)] == []


def test_apostrophes_and_words() -> None:
    """Messages have no contractions and no apologies."""
    wrong = re.compile(
        r"\b(can't|don't|isn't|won't|doesn't|please|sorry|oops|invalid|illegal|failed to|unable to)\b", re.I
    )
    assert [output for output in (*_messages(), *_hints()) if wrong.search(output[1])] == []


@pytest.mark.parametrize(
    ("error", "message", "hint"),
    [
        (click.UsageError("Missing command."), "missing command", "see `mptcplab --help`"),
        (
            click.MissingParameter(param_type="argument", param_hint="'FILE'"),
            "missing argument 'FILE'",
            "see `mptcplab --help`",
        ),
        (
            click.NoSuchOption("--repeat", possibilities=["--repeats"]),
            "there is no option '--repeat'",
            "did you mean --repeats?",
        ),
        (
            click.NoSuchOption("--repeat", possibilities=["--set", "--repeats"]),
            "there is no option '--repeat'",
            "did you mean --repeats?",
        ),
        (
            click.NoSuchOption("--point", possibilities=["--out", "--sort", "--json"]),
            "there is no option '--point'",
            "see `mptcplab --help`",
        ),
        (
            click.NoSuchOption("--job", possibilities=["--jobs", "--json"]),
            "there is no option '--job'",
            "did you mean --jobs?",
        ),
        (
            click.NoSuchOption("--sede", possibilities=["--seed", "--set"]),
            "there is no option '--sede'",
            "did you mean --seed?",
        ),
        (
            click.BadParameter("'handover' is not a valid integer range.", param_hint="'--point'"),
            "--point: 'handover' is not a whole number",
            "see `mptcplab --help`",
        ),
        (
            click.BadParameter("'few' is not a valid float range.", param_hint="'--margin'"),
            "--margin: 'few' is not a number",
            "see `mptcplab --help`",
        ),
        (
            click.BadParameter("0 is not in the range x>=1.", param_hint="'--repeats'"),
            "--repeats: 0 is not in the range x>=1",
            "see `mptcplab --help`",
        ),
    ],
)
def test_messages_of_click(error: click.ClickException, message: str, hint: str) -> None:
    described = explain_usage(error)
    assert (described.message, described.hint) == (message, hint)


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("--jobs", "2", "run", "a.toml"), "write it behind the command: mptcplab run ... --jobs"),
        (("--jobs", "2", "show", "a.toml"), "see `mptcplab --help`"),
        (("--jobs",), "see `mptcplab --help`"),
    ],
)
def test_an_option_before_its_command(monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], hint: str) -> None:
    monkeypatch.setattr(sys, "argv", ["mptcplab", *arguments])
    with pytest.raises(click.NoSuchOption) as caught:
        commands.main(list(arguments), prog_name="mptcplab", standalone_mode=False)
    assert explain_usage(caught.value).hint == hint


def test_an_uncaught_error_shows_its_hint(tmp_path: Path) -> None:
    """In a script or a notebook, Python prints the notes of an exception below it."""
    with pytest.raises(InputError) as caught:
        open_results(tmp_path / "nosuch")
    text = "".join(traceback.format_exception(caught.value))
    assert text.endswith(f"\nhint: {caught.value.hint}\n"), text
    caught.value.hint = "another"
    assert "".join(traceback.format_exception(caught.value)).endswith("\nhint: another\n"), "a hint that was set later"
    caught.value.hint = None
    assert "hint:" not in "".join(traceback.format_exception(caught.value))
