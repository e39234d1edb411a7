# SPDX-License-Identifier: MIT
"""Write the files of a results folder other than recordings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mptcplab.files import write_text
from mptcplab.report.table import Table


def write_table(table: Table, folder: Path, name: str) -> None:
    """Write NAME.md and NAME.csv."""
    write_text(folder / f"{name}.md", table.to_markdown())
    write_text(folder / f"{name}.csv", table.to_csv())


def write_json(document: Any, file: Path) -> None:
    """Write readable JSON."""
    write_text(file, json.dumps(document, indent=1) + "\n")
