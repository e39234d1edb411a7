# SPDX-License-Identifier: MIT
"""Loading is a pipeline: each stage returns a new value, and none changes what an earlier stage made."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from mptcplab.scenario import load as loading
from mptcplab.scenario.document import Document, parse
from mptcplab.scenario.load import load
from mptcplab.scenario.place import SourcePlace

ROOT = Path(__file__).resolve().parents[3]
#: All functions of :mod:`mptcplab.scenario.load` that take a document first.
STAGES = (
    "apply",
    "apply_axes",
    "read_sweep",
    "expand_copies",
    "expand_topology",
    "rename_keys",
    "find_ineffective_keys",
    "check",
)
#: With copies, a topology, a link preset, a trace, events, shared keys, an axis and a zip.
SCENARIO = """
title = "All forms of keys"
topology.preset = "disjoint-paths"
[transport]
scheduler = "roundrobin"
[links.link1]
preset = "lte-2014"
jitter = "1 ms"
[links.link2]
trace = "down.trace"
[copies.more]
count = 2
[copies.more.hosts."extra{n}"]
[copies.more.links."cable{n}"]
between = ["server", "extra{n}"]
rate = "10 Mbit/s"
[copies.more.workloads."fetch{n}"]
kind = "flow"
from = "extra{n}"
to = "server"
duration = "5 s"
[[copies.more.events]]
at = "{n} s"
type = "change"
link = "cable{n}"
rate = "1 Mbit/s"
[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
duration = "5 s"
[sweep]
"transport.protocol" = ["tcp", "mptcp"]
[[sweep.zip]]
"links.cable*.delay" = ["1 ms", "2 ms"]
"copies.more.count" = [1, 2]
"""


def _guard(stage: Callable[..., Any], guarded: list[str]) -> Callable[..., Any]:
    """Return ``stage`` with an assertion that it leaves its document alone. ``guarded`` notes its calls."""

    @wraps(stage)
    def call(document: Document, *more: Any, **keywords: Any) -> Any:
        before = copy.deepcopy((document.tables, document.places))
        result = stage(document, *more, **keywords)
        assert (document.tables, document.places) == before, stage.__name__
        guarded.append(stage.__name__)
        return result

    return call


def test_no_stage_changes_the_document_that_it_gets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guarded: list[str] = []
    for name in STAGES:
        monkeypatch.setattr(loading, name, _guard(getattr(loading, name), guarded))
    last = [stage.__name__ for stage in loading._STAGES]
    monkeypatch.setattr(loading, "_STAGES", tuple(_guard(stage, guarded) for stage in loading._STAGES))
    (tmp_path / "down.trace").write_text("1\n2\n3\n")
    (tmp_path / "base.toml").write_text(SCENARIO)
    (tmp_path / "s.toml").write_text('extends = "base.toml"\nwithout = ["workloads.bulk.duration"]\n')
    overrides = ["workloads.bulk.size=1 MB", 'links.link1.loss=["1 %", "2 %"]', "transport.scheduler=minrtt"]
    assert len(load(tmp_path / "s.toml", overrides=overrides).points) == 8
    assert set(guarded) == {*STAGES, *last}


def test_points_share_what_none_of_them_changes() -> None:
    """A sweep over 100,000 points would not fit into memory if each had a copy of all tables."""
    document = parse(ROOT / "examples" / "free-topology.toml")
    changed = document.put(("workloads", "new"), {}, SourcePlace(document.file, 0))
    assert changed.tables["links"] is document.tables["links"]
    assert "new" not in document.tables["workloads"]
    assert document.place(("workloads", "new")).line == document.place(("workloads",)).line > 0
