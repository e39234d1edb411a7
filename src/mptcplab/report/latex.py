# SPDX-License-Identifier: MIT
"""Tables as LaTeX: a ``tabular`` with the rules of booktabs, which a paper reads with ``\\input``."""

from __future__ import annotations

import re

from mptcplab.report.table import Table

#: A sign, not a hyphen: before a number, or between two words.
_MINUS = re.compile(r"(?<!\S)-(?=[\d\s])")
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    **{character: f"${character}$" for character in "<>|"},
    # A row that begins with a bracket would be taken for an option of the rule, or of the line break, before it.
    **{character: f"{{{character}}}" for character in "[]"},
    "±": r"$\pm$",
    "µ": r"$\mu$",
    "−": "$-$",
}


def to_latex(table: Table) -> str:
    """Return a table as LaTeX. Its title and notes are comments: the paper has a caption of its own for them."""
    places = "".join("r" if column in table.numeric else "l" for column in table.columns)
    return "\n".join(
        [
            *_comment(table.title),
            f"\\begin{{tabular}}{{{places}}}",
            r"\toprule",
            _line(table.columns),
            r"\midrule",
            *map(_line, table.rows),
            r"\bottomrule",
            r"\end{tabular}",
            *(line for note in table.notes for line in _comment(note)),
            "",
        ]
    )


def escape(text: str) -> str:
    """Return a text as LaTeX writes it."""
    parts = _MINUS.split(text)
    return "$-$".join("".join(_SPECIAL.get(character, character) for character in part) for part in parts)


def _line(cells: tuple[str, ...]) -> str:
    return " & ".join(map(escape, cells)) + r" \\"


def _comment(text: str) -> list[str]:
    return [f"% {line}" for line in text.splitlines()]
