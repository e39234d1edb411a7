# SPDX-License-Identifier: MIT
"""Check numbers in prose that come from a table, and claims about tables, against the present tables.

    OLIA takes 0.81<!-- = [balia-friendliness: MPTCP on link2 @ olia] --> Mbit/s
    <!-- holds [back after (s) @ reno] < [back after (s) @ balia] -->

``[TABLE: COLUMN @ ROW]`` is a cell; without ``TABLE:`` it is in the last table above. ``*`` and ``A | B`` stand for
several columns or rows; ``*`` excludes the first column and ``n``. A row is named by its first cell, or by its first
cells joined by ``, ``. A value that a test of the lab has measured is ``[measured: NAME]``. Expressions have
Python's arithmetic and comparisons and the functions of :data:`FUNCTIONS`; a comparison of lists has to hold for every
member. A number has to equal the value rounded to the digits that are written.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tools.docs.making.pages import Page, cells_of

_COMMENT = re.compile(r"<!-- (=|holds) (.*?) -->", re.DOTALL)
_WRITTEN = re.compile(r"([-−]?\d[\d,]*(?:\.\d+)?)\Z")
_REFERENCE = re.compile(r"\[([^\]]+)\]")
_CELL = re.compile(r"([-+]?[\d,.]*\d(?:e-?\d+)?)(?: ± ([\d.]+(?:e-?\d+)?))?(?: \(([^)]*)\))?(.*)", re.DOTALL)


#: Tolerance for sums of decimal fractions.
_ROUNDING = 1e-9


class QuoteError(Exception):
    """A number or claim of a page that does not fit its table, or names a cell that is not there."""


class Cell(float):
    """A mean with the half width of its interval, and the expected values in the order of the cell."""

    half: float
    expected: tuple[float, ...]

    @classmethod
    def read(cls, text: str) -> Cell:
        """Parse ``0.69 ± 0.01 (0.70, 0.73)``. :raises QuoteError: when there is no number."""
        match = _CELL.match(text)
        if not match:
            raise QuoteError(f"the cell {text!r} is not a number")
        cell = cls(match[1].replace(",", ""))
        cell.half = float(match[2] or 0)
        theory = match[3] or ""
        parts = theory.split(", ")
        cell.expected = tuple(map(float, parts)) if re.fullmatch(r"-?[\d.]+(, -?[\d.]+)*", theory) else ()
        return cell


Value = float | list[float]


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else [value]


def _map_first(function: Callable[..., Any]) -> Callable[..., Any]:
    """Apply ``function`` to every member of a list that is its first argument."""

    def apply_to_each(first: Any, *others: Any) -> Any:
        return [function(value, *others) for value in first] if isinstance(first, list) else function(first, *others)

    return apply_to_each


def _overlap(cell: Cell, other: Cell) -> bool:
    return abs(cell - other) <= cell.half + other.half + _ROUNDING


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "min": lambda *values: min(number for value in values for number in _as_list(value)),
    "max": lambda *values: max(number for value in values for number in _as_list(value)),
    "abs": _map_first(abs),
    # The half width of an interval, and its ends.
    "half": _map_first(lambda cell: cell.half),
    "low": _map_first(lambda cell: cell - cell.half),
    "high": _map_first(lambda cell: cell + cell.half),
    # The expected value in parentheses, by its index from 0.
    "expected": _map_first(lambda cell, at=0: cell.expected[int(at)]),
    # The interval of every cell contains the value; no two intervals overlap.
    "covers": lambda cells, value: all(abs(cell - value) <= cell.half + _ROUNDING for cell in _as_list(cells)),
    "apart": lambda cells: not any(_overlap(a, b) for n, a in enumerate(cells) for b in cells[n + 1 :]),
    # A list that rises from each member to the next.
    "rising": lambda *cells: all(a < b for a, b in zip(_flat(cells), _flat(cells)[1:], strict=False)),
}
_OPERATORS: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
}


def _flat(values: Iterable[Any]) -> list[Any]:
    return [number for value in values for number in _as_list(value)]


@dataclass(frozen=True)
class Quote:
    """A checked place of a page: ``written`` is the number before it, or None for a claim."""

    page: Page
    at: int
    begin: int
    written: str | None
    expression: str
    table: str

    @property
    def place(self) -> str:
        """The place for messages."""
        return f"{self.page.name}:{self.page.text.count(chr(10), 0, self.at) + 1}"


def quotes_of(page: Page) -> Iterator[Quote]:
    """Yield all quotes and claims of a page, in order. :raises QuoteError: for one without a number before it."""
    tables = [block for block in page.blocks if block.kind in ("table", "rows")]
    for match in _COMMENT.finditer(page.text):
        if page.is_code(match.start()):
            continue
        above = [block.name for block in tables if block.end <= match.start()]
        inside = [block.name for block in tables if block.begin <= match.start() < block.end]
        expression = " ".join(match[2].split())
        number = _WRITTEN.search(page.text[: match.start()]) if match[1] == "=" else None
        table = (inside or above or [""])[-1]
        begin = number.start() if number else match.start()
        quote = Quote(page, match.start(), begin, number[1] if number else None, expression, table)
        if match[1] == "=" and number is None:
            raise QuoteError(f"{quote.place}: no number stands before the quote {expression!r}")
        yield quote


class Tables:
    """The tables of all pages by name, tables that are on no page, and values that tests of the lab have measured."""

    def __init__(
        self, pages: Iterable[Page], measured: Mapping[str, float], rows: Mapping[str, list[list[str]]] | None = None
    ) -> None:
        blocks = [block for page in pages for block in page.blocks if block.kind in ("table", "rows")]
        self._tables = {block.name: cells_of(re.sub(r"<!--.*?-->", "", block.text)) for block in blocks}
        self._tables |= rows or {}
        self._measured = measured

    def value(self, quote: Quote) -> Any:
        """Return the value of a quote's expression. :raises QuoteError: when it cannot be computed."""
        names: dict[str, Any] = {}

        def add_name(match: re.Match[str]) -> str:
            names[f"_{len(names)}"] = self._cells(match[1], quote)
            return f"_{len(names) - 1}"

        try:
            tree = ast.parse(_REFERENCE.sub(add_name, quote.expression), mode="eval")
            return _evaluate(tree.body, names)
        except QuoteError as error:
            raise QuoteError(f"{quote.place}: {error}") from None
        except (SyntaxError, TypeError, AttributeError, IndexError, ZeroDivisionError) as error:
            raise QuoteError(f"{quote.place}: {quote.expression!r} cannot be computed: {error}") from error

    def _cells(self, reference: str, quote: Quote) -> Any:
        table, label, rest = reference.partition(": ")
        # A column may have a colon of its own: `call: MOS`.
        if not label or table not in (*self._tables, "measured"):
            table, rest = quote.table, reference
        name = table
        if name == "measured":
            if rest.strip() not in self._measured:
                raise QuoteError(f"no test has measured {rest.strip()!r}")
            return self._measured[rest.strip()]
        if not self._tables.get(name):
            raise QuoteError(f"there is no table {name!r}, or nothing in it")
        column, at, row = rest.partition(" @ ")
        if not at:
            raise QuoteError(f"[{reference}] is not of the form [TABLE: COLUMN @ ROW]")
        head, *rows = self._tables[name]
        places = _choose(column, head, name)
        wanted = [line for line in rows if _matches(row, line)]
        cells = [Cell.read(line[place]) for line in wanted for place in places if line[place]]
        if not cells:
            raise QuoteError(f"table {name!r} has no cell {column.strip()!r} @ {row.strip()!r}")
        several = len(cells) > 1 or "*" in (column.strip(), row.strip())
        return cells if several else cells[0]


def _choose(column: str, head: list[str], table: str) -> list[int]:
    wanted = [name.strip() for name in column.split(" | ")]
    if wanted == ["*"]:
        return [place for place, name in enumerate(head) if place and name != "n"]
    missing = [name for name in wanted if name not in head]
    if missing:
        raise QuoteError(f"table {table!r} has no column {missing[0]!r}: it has {', '.join(head)}")
    return [head.index(name) for name in wanted]


def _matches(row: str, line: list[str]) -> bool:
    wanted = [name.strip() for name in row.split(" | ")]
    return wanted == ["*"] or any(", ".join(line[:count]) in wanted for count in range(1, len(line)))


def _evaluate(node: ast.expr, names: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return node.value
    if isinstance(node, ast.Name) and node.id in names:
        return names[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_evaluate(node.operand, names)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _combine(_OPERATORS[type(node.op)], _evaluate(node.left, names), _evaluate(node.right, names))
    if isinstance(node, ast.BoolOp):
        values = [_evaluate(value, names) for value in node.values]
        return all(values) if isinstance(node.op, ast.And) else any(values)
    if isinstance(node, ast.Compare) and all(type(sign) in _OPERATORS for sign in node.ops):
        values = [_evaluate(value, names) for value in (node.left, *node.comparators)]
        pairs = zip(node.ops, values, values[1:], strict=False)
        return all(all(_as_list(_combine(_OPERATORS[type(sign)], value, other))) for sign, value, other in pairs)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS:
        return FUNCTIONS[node.func.id](*(_evaluate(argument, names) for argument in node.args))
    raise QuoteError(f"{ast.unparse(node)!r} is not allowed in an expression")


def _combine(function: Callable[[Any, Any], Any], value: Any, other: Any) -> Any:
    """Apply ``function`` member by member where one or both are lists."""
    if isinstance(value, list) and isinstance(other, list):
        return [function(a, b) for a, b in zip(value, other, strict=True)]
    if isinstance(value, list):
        return [function(a, other) for a in value]
    if isinstance(other, list):
        return [function(value, b) for b in other]
    return function(value, other)


def rewritten(written: str, value: float) -> str:
    """Format ``value`` like ``written``: with as many decimals, and with commas if it has them."""
    decimals = len(written.partition(".")[2])
    return f"{value:{',' if ',' in written else ''}.{decimals}f}"


def problem(quote: Quote, tables: Tables) -> str | None:
    """Return a sentence about a wrong quote, or None."""
    try:
        value = tables.value(quote)
    except QuoteError as error:
        return str(error)
    if quote.written is None:
        return None if value is True else f"{quote.place}: it no longer holds that {quote.expression}"
    if isinstance(value, (list, bool)):
        return f"{quote.place}: {quote.expression!r} is not a number"
    now = rewritten(quote.written, float(value))
    written = quote.written.replace("−", "-")
    return None if written == now else f"{quote.place}: the page says {written}, {quote.expression} is {now}"
