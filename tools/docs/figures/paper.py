# SPDX-License-Identifier: MIT
"""The table of docs/paper/paper.md: published values by class, in few columns."""

from __future__ import annotations

from collections import Counter

from tools.docs.figures.scoreboard import judged_tables
from tools.docs.making.pages import table_of

from mptcplab.study.judgement import (
    AGREES,
    DEPENDS,
    FITTED,
    IN_BEDS,
    PARTLY,
    SHOWN,
    SUPPOSED,
    UNCERTAIN_INSIDE,
    UNCERTAIN_OUTSIDE,
    UNEXPLAINED,
)
from mptcplab.study.library import study_names

#: The columns, with the classes that each counts.
_COLUMNS = {
    "agree": (AGREES,),
    "fitted": (FITTED,),
    "uncertain": (UNCERTAIN_INSIDE, UNCERTAIN_OUTSIDE),
    "other": (SHOWN, PARTLY, IN_BEDS, DEPENDS, SUPPOSED),
    "unexplained": (UNEXPLAINED,),
}


def outcome() -> str:
    """Return the number of published values of each class, by study and for all."""
    counts = {
        name: Counter(cell.counted_as for judged in judged_tables(name) for cell in judged.counted_once)
        for name in study_names()
    }
    total = sum(counts.values(), Counter[str]())
    rows = [
        [name, str(count.total()), *(str(sum(count[class_] for class_ in classes)) for classes in _COLUMNS.values())]
        for name, count in {**counts, "all": total}.items()
        if count
    ]
    return table_of(["study", "values", *_COLUMNS], rows)
