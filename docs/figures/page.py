# SPDX-License-Identifier: MIT
"""Places for made tables in docs/machine.md."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "machine.md"


def replaced(text: str, name: str, table: str) -> str:
    """Return ``text`` with ``table`` between the two comments that name it. :raises ValueError: without these."""
    begin, end = f"<!-- table {name} -->", f"<!-- end of table {name} -->"
    before, _, rest = text.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"the page has no place for the table {name}")
    return f"{before}{begin}\n{table}\n{end}{after}"
