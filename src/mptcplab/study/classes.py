# SPDX-License-Identifier: MIT
"""The classes of published values and claims: names, column heads, texts and colours.

:mod:`mptcplab.study.verdict` and :mod:`mptcplab.study.claims` compute them; a study's data cannot set a class.
"""

from __future__ import annotations

from dataclasses import dataclass

from mptcplab.report.table import Emphasis

AGREES = "agrees"
FITTED = "fitted"
UNCERTAIN_INSIDE = "too uncertain, mean inside"
UNCERTAIN_OUTSIDE = "too uncertain, mean outside"
SHOWN = "differs, shown"
PARTLY = "differs, partly shown"
IN_BEDS = "differs, agrees in at least 95 % of beds"
DEPENDS = "differs, depends on the bed"
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
    """One class. ``head`` is its column on the scoreboard, ``words`` its name beside a count.

    ``colour`` is the colour of its points in figures: the colours of Okabe and Ito, which colour-blind readers can
    distinguish, and a brown. ``marker`` is matplotlib's and ``symbol`` plotly's.
    """

    name: str
    head: str
    words: str
    emphasis: Emphasis
    colour: str = ""
    marker: str = ""
    symbol: str = ""


VALUE_CLASSES = (
    Class(AGREES, "agree", "agree", "good", "#009E73", "o", "circle"),
    Class(FITTED, "fitted", "fitted", "fair", "#7A7A7A", "s", "square"),
    Class(
        UNCERTAIN_INSIDE, "uncertain, inside", "too uncertain with the mean inside", "fair", "#56B4E9", "D", "diamond"
    ),
    Class(
        UNCERTAIN_OUTSIDE,
        "uncertain, outside",
        "too uncertain with it outside",
        "fair",
        "#56B4E9",
        "d",
        "diamond-open",
    ),
    Class(SHOWN, "differ, shown", "differ for a shown reason", "fair", "#0072B2", "^", "triangle-up"),
    Class(PARTLY, "differ, partly shown", "differ for a partly shown reason", "fair", "#CC79A7", "P", "cross"),
    Class(IN_BEDS, "agree in 95 % of beds", "agree in at least 95 % of beds", "fair", "#009E73", "*", "star"),
    Class(
        DEPENDS, "depend on the bed", "depend on parameters that no source states", "fair", "#8C6D1F", "p", "pentagon"
    ),
    Class(SUPPOSED, "differ, supposed", "differ for a supposed reason", "fair", "#E69F00", "v", "triangle-down"),
    Class(UNEXPLAINED, "unexplained", "unexplained", "bad", "#D55E00", "X", "x"),
    Class(OPEN, "not measured", "not measured", "fair"),
)
CLAIM_CLASSES = (
    Class(HOLDS, "claims hold", "hold", "good"),
    Class(FITTED, "fitted claims", "about fitted values", "fair"),
    Class(FAILS_SHOWN, "do not hold, shown", "do not hold for a shown reason", "fair"),
    Class(FAILS_PARTLY, "do not hold, partly", "do not hold for a partly shown reason", "fair"),
    Class(FAILS_SUPPOSED, "do not hold, supposed", "do not hold for a supposed reason", "fair"),
    Class(UNEXPLAINED, "no reason", "do not hold without one", "bad"),
    Class(UNCERTAIN, "not certain", "not certain", "fair"),
    Class(OPEN, "not judged", "not judged", "fair"),
)
#: Names in the order in which they are counted.
VALUES = tuple(value_class.name for value_class in VALUE_CLASSES)
CLAIMS = tuple(claim_class.name for claim_class in CLAIM_CLASSES)
VALUE_EMPHASES = {value_class.name: value_class.emphasis for value_class in VALUE_CLASSES}
