# SPDX-License-Identifier: MIT
"""Shell scripts as lists of simple commands. Nothing is run.

Understood are comments, quotes, continued lines, variables with literal values (``DEV=eth0``, ``${DEV}``), ``for`` over
literal words, ``;``, ``&&``, ``||``, pipes and ``&``, and functions that a later line calls. What needs a running
shell, such as ``$(...)`` or arithmetic, stays as it is in the command, which is then not imported.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from mptcplab.importers.world import Origin

_ASSIGNMENT = re.compile(r"(?:export\s+|local\s+|readonly\s+)?(?P<name>[A-Za-z_]\w{0,60})=(?P<value>.*)", re.DOTALL)
_VARIABLE = re.compile(
    r"\$(?:(?P<plain>[A-Za-z_]\w{0,60}|[0-9@*])|\{(?P<braced>[A-Za-z_]\w{0,60}|[0-9])(?::-(?P<default>[^}$]*))?\})"
)
_FUNCTION = re.compile(r"(?:function\s+)?(?P<name>[A-Za-z_][\w-]{0,60})\s*\(\s*\)\s*(?P<rest>\{.*)?$")
_SEQUENCE = re.compile(r"(?:\$\(|`)\s*seq\s+(?P<first>\d{1,4})(?:\s+(?P<last>\d{1,4}))?\s*(?:\)|`)")
_BRACES = re.compile(r"\{(?P<first>\d{1,4})\.\.(?P<last>\d{1,4})\}")
_REDIRECTION, _REDIRECTION_TO = re.compile(r"\d?(?:>>?|<)&?"), re.compile(r"\d?(?:>>?|<)[&/\w]|&>")
#: Letters without which a command has neither redirections nor assignments.
_MARKS = re.compile(r"[<>=]")
_QUOTING, _BLANKS = re.compile(r"[\\'\"]"), re.compile(r"[ \t\r\n]+")
#: What can end a command, or keep what follows from ending it.
_STRUCTURE = re.compile(r"[\\'\"()#;|&]")
_WORDS_WITHOUT_EFFECT = {"then", "else", "do", "{", "}", "fi", "done", "time", "!", "command"}
_MAX_COMMANDS, _MAX_DEPTH, _MAX_TEXT = 20_000, 8, 4000


@dataclass(frozen=True)
class ShellLine:
    """One command with its words, and whether it goes on beside the next one."""

    words: tuple[str, ...]
    text: str
    origin: Origin
    in_background: bool = False

    @property
    def is_open(self) -> bool:
        """Return whether a word needs a running shell."""
        return any("$" in word or "`" in word for word in self.words)


@dataclass(frozen=True)
class _Piece:
    """A simple command as it is written."""

    text: str
    number: int
    in_background: bool


def read_commands(file: str, text: str, first_line: int = 1) -> Iterator[ShellLine]:
    """Yield the commands of a script in the order in which a shell would run them."""
    pieces = [
        _Piece(part, number, background) for number, line in _logical_lines(text) for part, background in _split(line)
    ]
    reader = _Reader(file, first_line - 1)
    yield from reader.run(pieces, {}, 0)


class _Reader:
    """Follows variables, loops and functions, within limits."""

    def __init__(self, file: str, offset: int) -> None:
        self._file, self._offset, self._left = file, offset, _MAX_COMMANDS
        self._functions: dict[str, list[_Piece]] = {}

    def run(self, pieces: list[_Piece], variables: dict[str, str], depth: int) -> Iterator[ShellLine]:
        """Yield the commands of some pieces."""
        index = 0
        while index < len(pieces):
            piece = pieces[index]
            index += 1
            function = _FUNCTION.fullmatch(piece.text) if "(" in piece.text else None
            if function is not None:
                end = _end_of_body(pieces, index)
                rest = [_Piece(function["rest"].lstrip("{ "), piece.number, False)] if function["rest"] else []
                self._functions[function["name"]] = [body for body in rest + pieces[index:end] if body.text]
                index = end
                continue
            if piece.text.startswith("for ") and depth < _MAX_DEPTH:
                end = _end_of_loop(pieces, index)
                yield from self._loop(piece, pieces[index:end], variables, depth)
                index = end
                continue
            yield from self._command(piece, variables, depth)

    def _loop(self, head: _Piece, body: list[_Piece], variables: dict[str, str], depth: int) -> Iterator[ShellLine]:
        name, _, listed = head.text[4:].strip().partition(" in ")
        words = _expand_numbers(_expand(listed, variables))
        values = [] if "$" in words or "`" in words else words.split()[:100]
        if not values:
            # The words of the loop are not known: its commands are shown once, with the variable open.
            yield from self.run(body, {key: value for key, value in variables.items() if key != name}, depth + 1)
        for value in values:
            variables[name] = value
            yield from self.run(body, variables, depth + 1)

    def _command(self, piece: _Piece, variables: dict[str, str], depth: int) -> Iterator[ShellLine]:
        if self._left <= 0:
            return
        self._left -= 1
        assignment = _ASSIGNMENT.fullmatch(piece.text) if "=" in piece.text else None
        if assignment is not None and (value := _literal(assignment["value"], variables)) is not None:
            variables[assignment["name"]] = value
            return
        text = _expand(piece.text, variables)
        words = _words(text)
        while words and words[0] in _WORDS_WITHOUT_EFFECT:
            words = words[1:]
        if not words:
            return
        body = self._functions.get(words[0])
        if body is not None and depth < _MAX_DEPTH:
            arguments = {str(number): word for number, word in enumerate(words[1:10], start=1)}
            arguments["@"] = arguments["*"] = " ".join(words[1:])
            yield from self.run(body, {**variables, **arguments}, depth + 1)
            return
        yield ShellLine(words, text, Origin(self._file, piece.number + self._offset), piece.in_background)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines with their numbers; a backslash at the end continues a line, a here-document is left out."""
    start, parts = 0, ""
    ends_at: str | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if ends_at is not None:
            ends_at = None if line.strip() == ends_at else ends_at
            continue
        if not parts:
            start = number
        if line.endswith("\\"):
            parts = (parts + line[:-1] + " ")[:_MAX_TEXT]
            continue
        whole, parts = (parts + line)[:_MAX_TEXT], ""
        document = re.search(r"<<-?\s*['\"]?(?P<word>\w{1,40})['\"]?", whole)
        if document is not None:
            ends_at = document["word"]
        yield start, whole
    if parts:
        yield start, parts


def _split(line: str) -> Iterator[tuple[str, bool]]:
    """Yield the simple commands of a line, each with whether it ends with ``&``."""
    if _STRUCTURE.search(line) is None:
        if command := line.strip():
            yield command, False
        return
    part, quote, index = "", "", 0
    depth = 0
    while index < len(line):
        letter = line[index]
        if letter == "\\":
            part += line[index : index + 2]
            index += 2
            continue
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter == "(":
            depth += 1
        elif letter == ")":
            depth -= 1
        elif letter == "#" and (not part or part[-1].isspace()):
            break
        elif (
            letter in ";|&"
            and depth <= 0
            and not (letter == "&" and (part.endswith(">") or line[index + 1 : index + 2] == ">"))
        ):
            double = line[index : index + 2] in ("&&", "||", ";;")
            if part.strip():
                yield part.strip(), letter == "&" and not double
            part = ""
            index += 2 if double else 1
            continue
        part += letter
        index += 1
    if part.strip():
        yield part.strip(), False


def _end_of_loop(pieces: list[_Piece], index: int) -> int:
    depth = 1
    while index < len(pieces):
        word = pieces[index].text.split(maxsplit=1)[0]
        depth += word in ("for", "while", "until")
        depth -= word == "done"
        index += 1
        if depth == 0:
            break
    return index


def _end_of_body(pieces: list[_Piece], index: int) -> int:
    depth = 1 if index and "{" in pieces[index - 1].text else 0
    while index < len(pieces):
        words = pieces[index].text.split()
        depth += words[0] == "{"
        depth -= words[0] == "}" or words[-1] == "}"
        index += 1
        if depth <= 0:
            break
    return index


def _expand(text: str, variables: dict[str, str]) -> str:
    """Return a text with the variables that are known, outside single quotes."""

    def value(match: re.Match[str]) -> str:
        name = match["plain"] or match["braced"]
        if name in variables:
            return variables[name]
        return match["default"] if match["default"] is not None else match[0]

    if "$" not in text:
        return text
    parts = text.split("'")
    parts[::2] = [_VARIABLE.sub(value, part) for part in parts[::2]]
    return "'".join(parts)[:_MAX_TEXT]


def _literal(written: str, variables: dict[str, str]) -> str | None:
    """Return the value of an assignment; None if the line is a command with an assignment before it."""
    expanded = _expand(written, variables)
    if expanded.startswith(("$(", "`")) or expanded[:1] == "(":
        return expanded
    try:
        words = shlex.split(expanded, comments=True)
    except ValueError:
        return None
    return None if len(words) > 1 else "".join(words)


def _words(text: str) -> tuple[str, ...]:
    """Return the words of a command, without redirections and assignments before it."""
    if _QUOTING.search(text) is None:
        # Most commands are like this, and shlex looks at every letter.
        words = [word for word in _BLANKS.split(text) if word]
    else:
        try:
            words = shlex.split(text)
        except ValueError:
            words = text.split()
    if _MARKS.search(text) is None:
        return tuple(words)
    kept: list[str] = []
    skips = False
    for word in words:
        if skips:
            skips = False
        elif _REDIRECTION.fullmatch(word) or word == "&>":
            skips = True
        elif _REDIRECTION_TO.match(word):
            continue
        elif kept or not _ASSIGNMENT.fullmatch(word):
            kept.append(word)
    return tuple(kept)


def _expand_numbers(text: str) -> str:
    """Return ``{1..3}``, ``$(seq 3)`` and ``$(seq 1 3)`` as words."""

    def words(match: re.Match[str]) -> str:
        first, last = int(match["first"]), match.group("last")
        low, high = (1, first) if last is None else (first, int(last))
        return " ".join(map(str, range(low, min(high, low + 99) + 1)))

    return _BRACES.sub(words, _SEQUENCE.sub(words, text))
