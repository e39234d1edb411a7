# SPDX-License-Identifier: MIT
"""Pages and their blocks of measured numbers. docs/maintaining-docs.md describes how authors mark them."""

from __future__ import annotations

import hashlib
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
_TABLE = re.compile(r"^<!-- table (\S+)(?: from (\S+))? -->\n(.*?)^<!-- end of table \1 -->$", re.MULTILINE | re.DOTALL)
_FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_HIDDEN = re.compile(r"^<!-- file (\S+)\n(.*?)^-->$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"<!-- file (\S+) -->\n\Z")
_OUTPUT = re.compile(r"<!-- output of python (\S+) -->\n\Z")
_FIXED = re.compile(r"<!-- (?:typed|not run): .*? -->\s*\Z", re.DOTALL)
_COMMAND = re.compile(r"\$ ((?:[^\n]*\\\n)*[^\n]*)\n?")
#: Wall-clock times, and the number of runs that existed already: neither is repeatable, nor a result.
_VOLATILE = re.compile(r"^(?:done|there|failed) |runs?: .* of virtual time in |^\d+ runs? (?:was|were) there|left\)$")
_DIGEST = 16
#: A mark is directly before its block: at most this many characters before it.
_NEAR = 400
#: A cell that is a measured number, with or without a unit: a decimal fraction at its beginning, or an interval.
_MEASURED = re.compile(r"^[-+<*~]*\d[\d,]*\.\d|±")


@dataclass(frozen=True)
class Command:
    """A command of a console block with the output that the page shows; ``...`` stands for omitted lines."""

    text: str
    shown: tuple[str, ...]

    @property
    def line(self) -> str:
        """The command on one line."""
        return " ".join(self.text.replace("\\\n", " ").split())

    @property
    def is_refused(self) -> bool:
        """True if the page shows that the command fails."""
        return any(line.startswith("mptcplab: ") for line in self.shown)


@dataclass(frozen=True)
class Block:
    """A stretch of a page from ``begin`` to ``end``. ``name`` is unique on its page.

    ``kind`` is ``table`` (made by a script), ``rows`` (made from a folder of results, ``source``), ``console`` (with
    ``source``, its indentation) or ``python`` (the output of the script ``source``).
    """

    page: Path
    name: str
    kind: str
    begin: int
    end: int
    text: str
    source: str = ""

    @property
    def key(self) -> str:
        """The name among all pages."""
        return f"{self.page.relative_to(ROOT)}: {self.name}"

    @property
    def digest(self) -> str:
        """Digest of the repeatable lines of the block."""
        lines = [line for line in self.text.splitlines() if not is_volatile(line)]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:_DIGEST]

    @property
    def commands(self) -> list[Command]:
        """The commands of a console block."""
        pieces = re.split(r"^(?=\$ )", self.text, flags=re.MULTILINE)
        commands = [(_COMMAND.match(piece), piece) for piece in pieces]
        return [Command(match[1], tuple(piece[match.end() :].splitlines())) for match, piece in commands if match]


@dataclass(frozen=True)
class Page:
    """A page of the documentation."""

    file: Path

    @cached_property
    def text(self) -> str:
        """The text on disk."""
        return self.file.read_text()

    @property
    def name(self) -> str:
        """Path relative to the project."""
        return str(self.file.relative_to(ROOT))

    @cached_property
    def blocks(self) -> list[Block]:
        """All blocks that a script writes, in the order of the page."""
        blocks = sorted([*self._tables(), *self._consoles(), *self._outputs()], key=lambda block: block.begin)
        met: Counter[str] = Counter()
        for block in blocks:
            met[block.name] += 1
            if met[block.name] > 1:
                blocks[blocks.index(block)] = replace(block, name=f"{block.name} ({met[block.name]})")
        return blocks

    def _tables(self) -> Iterator[Block]:
        for match in _TABLE.finditer(self.text):
            kind = "rows" if match[2] else "table"
            yield Block(self.file, match[1], kind, match.start(3), match.end(3), match[3], match[2] or "")

    def _consoles(self) -> Iterator[Block]:
        for match in _FENCE.finditer(self.text):
            if match[2] == "console" and not _FIXED.search(self.text[max(0, match.start() - _NEAR) : match.start()]):
                text = textwrap.dedent(match[3])
                block = Block(self.file, "", "console", match.start(3), match.end(3), text, match[1])
                yield replace(block, name=block.commands[0].line if block.commands else text.partition("\n")[0])

    def _outputs(self) -> Iterator[Block]:
        """Yield the marked fences with the output of a Python block."""
        for match in _FENCE.finditer(self.text):
            if name := _OUTPUT.search(self.text[max(0, match.start() - _NEAR) : match.start()]):
                script = [fence[3] for fence in _FENCE.finditer(self.text[: match.start()]) if fence[2] == "python"][-1]
                yield Block(self.file, name[1], "python", match.start(3), match.end(3), match[3], script)

    @property
    def files(self) -> dict[str, str]:
        """Files that the page's commands use, by name: visible blocks and hidden ones."""
        named = dict(_HIDDEN.findall(self.text))
        for match in _FENCE.finditer(self.text):
            if file := _FILE.search(self.text[max(0, match.start() - _NEAR) : match.start()]):
                named[file[1]] = textwrap.dedent(match[3])
        return named

    def is_code(self, at: int) -> bool:
        """Return whether a place is inside a fence, or inside backticks of its line."""
        line = self.text[self.text.rfind("\n", 0, at) + 1 : at]
        return line.count("`") % 2 == 1 or any(begin <= at < end for begin, end in self._fences)

    @cached_property
    def _fences(self) -> list[tuple[int, int]]:
        return [(fence.start(), fence.end()) for fence in _FENCE.finditer(self.text)]

    @property
    def commands(self) -> list[str]:
        """Every command line of a fence or an indented block, on one line each."""
        lines: list[str] = []
        for fence in _FENCE.finditer(self.text):
            body = textwrap.dedent(fence[3])
            if fence[2] == "console":
                lines += [match[1] for match in re.finditer(r"^" + _COMMAND.pattern, body, re.MULTILINE)]
            elif fence[2] == "sh":
                lines += body.replace("\\\n", " ").splitlines()
        rest = _FENCE.sub("", self.text)
        lines += [line.strip() for line in re.findall(r"^ {4}(?=mptcplab |make |python -m )[^\n]*", rest, re.MULTILINE)]
        return [" ".join(line.replace("\\\n", " ").split()) for line in lines]

    def replace_block(self, block: Block, text: str) -> str:
        """Return the page's text with ``block`` changed to ``text``."""
        indented = textwrap.indent(text, block.source) if block.kind == "console" else text
        return f"{self.text[: block.begin]}{indented}{self.text[block.end :]}"


def pages() -> list[Page]:
    """Return all pages except decisions, which are records of their time."""
    paths = sorted([*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "paper").glob("*.md")])
    return [Page(file) for file in (ROOT / "README.md", *paths, ROOT / "bench" / "README.md")]


def is_volatile(line: str) -> bool:
    """Return whether a line of output depends on the wall clock."""
    return bool(_VOLATILE.search(line.strip()))


def cells_of(table: str) -> list[list[str]]:
    """Return head and rows of a Markdown table."""
    lines = [line for line in table.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])] for line in lines]
    return [row for row in rows if not all(re.fullmatch(r":?-+:?", cell) for cell in row)]


def typed_tables(page: Page) -> list[tuple[int, str]]:
    """Return tables with measured numbers that no script makes and no ``typed:`` explains: line number and first row.

    Rows with a number that a quote checks do not count.
    """
    covered = [(block.begin, block.end) for block in page.blocks]
    typed = []
    for table in re.finditer(r"(?:^\|.*\n)+", page.text, re.MULTILINE):
        inside = any(begin <= table.start() < end for begin, end in covered)
        above = page.text[max(0, table.start() - _NEAR) : table.start()]
        if inside or _FIXED.search(above) or page.is_code(table.start()):
            continue
        _, *rows = cells_of(table[0])
        plain = [row for row in rows if not any("<!-- =" in cell for cell in row)]
        measured = [row for row in plain if any(_MEASURED.search(cell) for cell in row[1:])]
        if measured:
            typed.append((page.text.count("\n", 0, table.start()) + 1, " | ".join(measured[0])))
    return typed


def table_of(head: Sequence[str], rows: Sequence[Sequence[str]], rule: str | None = None) -> str:
    """Return a Markdown table; ``rule`` replaces the plain line below the head."""
    lines = ["| " + " | ".join(head) + " |", rule or "| " + " | ".join(["---"] * len(head)) + " |"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"
