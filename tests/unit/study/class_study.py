# SPDX-License-Identifier: MIT
"""A made study with a value and a claim of every class, measured without anything being run."""

from __future__ import annotations

import tomllib
from pathlib import Path

from mptcplab.stats import mean_interval
from mptcplab.study.cloud import CloudValue
from mptcplab.study.library import SelectedTable
from mptcplab.study.measurement import TableSource, Value
from mptcplab.study.schema import Study
from mptcplab.study.sensitivity import MIN_BEDS_FOR_CAUSES
from mptcplab.study.verdict import JudgedTable, judge

STUDY = """
name = "made"
title = "t"
authors = "a"
year = 2020
where = "w"
test_bed = "b"

[[parameters]]
name = "delay"
says = "nothing"
place = "p. 1"
value = "1 ms"
origin = "fitted"
why = "so that TCP comes out"
fitted_to = [{ table = "1", columns = ["tcp"] }]

[[parameters]]
name = "rate"
says = "10 Mbit/s"
place = "p. 2"
value = "10 Mbit/s"
origin = "stated"

[[parameters.other]]
tables = ["2"]
value = "20 Mbit/s"
origin = "after"
why = "the queue overflowed"

[tables.1]
title = "delay"
place = "Table 1, p. 3"
scenario = "s.toml"
along = "delay"
along_label = "delay"
unit = "Mbit/s"
columns = { tcp = "TCP", mptcp = "MPTCP" }
tolerance = "10%"
why_tolerance = "as made"

[tables.1.published]
"1 ms" = { tcp = 10, mptcp = 20 }
"2 ms" = { tcp = 20, mptcp = 40 }
"3 ms" = { tcp = 30, mptcp = 60 }
"4 ms" = { tcp = 40, mptcp = 80 }

[[tables.1.because]]
columns = ["mptcp"]
rows = ["3 ms"]
reason = "the buffer"
shown_by = { table = "e", columns = { mptcp = "small" } }

[tables.2]
title = "loss"
place = "Table 2, p. 4"
scenario = "s.toml"
along = "loss"
along_label = "loss"
unit = "Mbit/s"
columns = { mptcp = "MPTCP" }
tolerance = "10%"
why_tolerance = "as made"
same_as = [{ table = "1", rows = { "0 %" = "1 ms" } }]

[tables.2.published]
"0 %" = { mptcp = 20 }
"1 %" = { mptcp = 10 }
"2 %" = { mptcp = 8 }
"3 %" = { mptcp = 6 }
"4 %" = { mptcp = 5 }
"5 %" = { mptcp = 4 }
"6 %" = { mptcp = 3 }

[[tables.2.because]]
rows = ["1 %"]
reason = "the buffer, which does not show it"
shown_by = { table = "e", rows = { "1 %" = "3 ms" }, columns = { mptcp = "large" } }

[[tables.2.because]]
rows = ["2 %"]
reason = "a part"
shown_by = { table = "e", rows = { "2 %" = "3 ms" }, columns = { mptcp = "half" } }

[tables.e]
kind = "Evidence"
title = "buffer"
scenario = "s.toml"
along = "delay"
along_label = "delay"
unit = "Mbit/s"
rows = ["3 ms"]
columns = { small = "small buffer", large = "large buffer", half = "half of it" }

[[claims]]
text = "at least 20 at 1 ms"
table = "1"
of = "mptcp"
rows = ["1 ms"]
min = 20
why_bounds = "b"

[[claims]]
text = "twice TCP at 1 ms"
table = "1"
of = "mptcp"
to = ["tcp"]
rows = ["1 ms"]
min = 1.9
why_bounds = "b"

[[claims]]
text = "at most 8 at 2 %"
table = "2"
of = "mptcp"
rows = ["2 %"]
max = 8
why_bounds = "b"
because = { reason = "a part of a claim", shown_by = { table = "e", of = "half", rows = ["3 ms"] } }

[[claims]]
text = "at most 70 at 3 ms"
table = "1"
of = "mptcp"
rows = ["3 ms"]
max = 70
why_bounds = "b"
because = { reason = "the buffer, of a claim", shown_by = { table = "e", of = "small" } }

[[claims]]
text = "at most 60 at 4 ms"
table = "1"
of = "mptcp"
rows = ["4 ms"]
max = 60
why_bounds = "b"
because = { reason = "not known", shown_by = { table = "e", of = "large", rows = ["3 ms"] } }

[[claims]]
text = "at most 1 at 4 ms"
table = "1"
of = "mptcp"
rows = ["4 ms"]
max = 1
why_bounds = "b"

[[claims]]
text = "at least 40 at 2 ms"
table = "1"
of = "mptcp"
rows = ["2 ms"]
min = 40
why_bounds = "b"

[[claims]]
text = "at most 100 at 3 % of loss"
table = "2"
of = "mptcp"
rows = ["3 %"]
max = 100
why_bounds = "b"
"""

#: Mean and the difference of two more runs from it, by table, row and column; 2.48 times that is the half width.
MEASURED = {
    ("1", "1 ms", "tcp"): (10.2, 0.1),
    ("1", "2 ms", "tcp"): (20.2, 0.1),
    ("1", "3 ms", "tcp"): (30.2, 0.1),
    ("1", "4 ms", "tcp"): (50.0, 0.1),
    ("1", "1 ms", "mptcp"): (21.5, 0.1),
    ("1", "2 ms", "mptcp"): (40.5, 4.0),
    ("1", "3 ms", "mptcp"): (90.0, 1.0),
    ("1", "4 ms", "mptcp"): (120.0, 1.0),
    ("2", "0 %", "mptcp"): (20.1, 0.1),
    ("2", "1 %", "mptcp"): (15.0, 0.1),
    ("2", "2 %", "mptcp"): (14.0, 0.1),
    ("2", "4 %", "mptcp"): (7.0, 1.2),
    ("2", "5 %", "mptcp"): (6.0, 0.1),
    ("2", "6 %", "mptcp"): (4.5, 0.1),
    ("e", "3 ms", "small"): (66.0, 1.0),
    ("e", "3 ms", "large"): (92.0, 1.0),
    ("e", "3 ms", "half"): (10.5, 0.1),
}


BEDS = MIN_BEDS_FOR_CAUSES


def over_beds(row: str, agreeing: int, *moved_by: str, beds: int = BEDS) -> dict[tuple[str, str], CloudValue]:
    """Return a value of table 2 that agrees in some of many test beds."""
    published = select_table("2").table.published[row]["mptcp"].mean
    measured = (published,) * agreeing + (1.5 * published,) * (beds - agreeing)
    return {(row, "mptcp"): CloudValue("2", row, "mptcp", published, 10, measured, causes=lambda: moved_by)}


def select_table(number: str) -> SelectedTable:
    study = Study.model_validate(tomllib.loads(STUDY))
    return SelectedTable(study, Path("made"), number, study.tables[number])


def measure(number: str) -> dict[tuple[str, str], Value]:
    measurements = {}
    for (table, row, column), (mean, apart) in MEASURED.items():
        if table == number:
            values = [mean - apart, mean, mean + apart]
            measurements[row, column] = Value(mean_interval(values), dict(enumerate(values, start=1)))
    return measurements


OVER_BEDS = over_beds("5 %", BEDS // 2, "queue", "buffer") | over_beds("6 %", BEDS)


def judge_table(number: str, *, with_evidence: bool = True) -> JudgedTable:
    sources = {"made/e": TableSource(measure("e"))} if with_evidence else {}
    return judge(select_table(number), measure(number), (), sources, over_beds=OVER_BEDS if number == "2" else {})
