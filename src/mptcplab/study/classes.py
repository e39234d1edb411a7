# SPDX-License-Identifier: MIT
"""The classes of published values and claims: names, column heads, texts and colours.

:mod:`mptcplab.study.verdict` and :mod:`mptcplab.study.claims` compute them; a study's data cannot set a class.
"""

from __future__ import annotations

from dataclasses import dataclass

AGREES = "agrees"
FITTED = "fitted"
TOO_UNCERTAIN = "too uncertain"
SHOWN = "differs, shown"
PARTLY = "differs, partly shown"
SUPPOSED = "differs, supposed"
UNEXPLAINED = "unexplained"
OPEN = "not measured"

HOLDS = "holds"
FAILS = "does not hold"
FAILS_SHOWN = "does not hold, shown"
FAILS_PARTLY = "does not hold, partly shown"
FAILS_SUPPOSED = "does not hold, supposed"
UNCERTAIN = "not certain"


@dataclass(frozen=True)
class Class:
    """One class. ``head`` is its column on the scoreboard, ``words`` its name beside a count, ``style`` is rich's.

    ``colour`` is that of its points in figures, one of Okabe and Ito's, which colour-blind readers can distinguish;
    ``marker`` is matplotlib's and ``symbol`` plotly's.
    """

    name: str
    head: str
    words: str
    style: str
    colour: str = ""
    marker: str = ""
    symbol: str = ""


VALUE_CLASSES = (
    Class(AGREES, "agree", "agree", "green", "#009E73", "o", "circle"),
    Class(FITTED, "fitted", "fitted", "yellow", "#7A7A7A", "s", "square"),
    Class(TOO_UNCERTAIN, "too uncertain", "too uncertain", "yellow", "#56B4E9", "D", "diamond"),
    Class(SHOWN, "differ, shown", "differ for a shown reason", "yellow", "#0072B2", "^", "triangle-up"),
    Class(PARTLY, "differ, partly shown", "differ for a partly shown reason", "yellow", "#CC79A7", "P", "cross"),
    Class(SUPPOSED, "differ, supposed", "differ for a supposed reason", "yellow", "#E69F00", "v", "triangle-down"),
    Class(UNEXPLAINED, "unexplained", "unexplained", "bold red", "#D55E00", "X", "x"),
    Class(OPEN, "not measured", "not measured", "yellow"),
)
CLAIM_CLASSES = (
    Class(HOLDS, "claims hold", "hold", "green"),
    Class(FITTED, "fitted claims", "about fitted values", "yellow"),
    Class(FAILS_SHOWN, "do not hold, shown", "do not hold for a shown reason", "yellow"),
    Class(FAILS_PARTLY, "do not hold, partly", "do not hold for a partly shown reason", "yellow"),
    Class(FAILS_SUPPOSED, "do not hold, supposed", "do not hold for a supposed reason", "yellow"),
    Class(UNEXPLAINED, "no reason", "do not hold without one", "bold red"),
    Class(UNCERTAIN, "not certain", "not certain", "yellow"),
    Class(OPEN, "not judged", "not judged", "yellow"),
)
#: Names in the order in which they are counted.
VALUES = tuple(one.name for one in VALUE_CLASSES)
CLAIMS = tuple(one.name for one in CLAIM_CLASSES)
VALUE_STYLES = {one.name: one.style for one in VALUE_CLASSES}
