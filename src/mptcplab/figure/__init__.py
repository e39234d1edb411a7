# SPDX-License-Identifier: MIT
"""Figures: what is drawn (lines, bars, time series, distributions), and how all of them look.

    results -> chosen -> lines | bars | over_time | distribution -> canvas -> SVG, PNG, PDF
    a table of somebody else -> table -> from_table -> lines | bars | distribution -> the same

``mptcplab figure``, the figures of ``mptcplab run`` and ``reproduce``, and the report take their data and their looks
from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mptcplab.lazy import lazy_names

if TYPE_CHECKING:
    from mptcplab.figure.choice import Choice
    from mptcplab.figure.chosen import drawn
    from mptcplab.figure.drawing import Drawn
    from mptcplab.figure.from_table import drawn_table
    from mptcplab.figure.table_file import read_table

__all__ = ["Choice", "Drawn", "drawn", "drawn_table", "read_table"]
__getattr__ = lazy_names(
    __name__,
    {
        "choice": ("Choice",),
        "chosen": ("drawn",),
        "drawing": ("Drawn",),
        "from_table": ("drawn_table",),
        "table_file": ("read_table",),
    },
)
