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
    from mptcplab.figure.choice import FigureChoice
    from mptcplab.figure.drawing import FigureSpec
    from mptcplab.figure.from_results import build_figure
    from mptcplab.figure.from_table import build_table_figure
    from mptcplab.figure.table import read_table

__all__ = ["FigureChoice", "FigureSpec", "build_figure", "build_table_figure", "read_table"]
__getattr__ = lazy_names(__name__)
