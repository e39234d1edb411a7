# SPDX-License-Identifier: MIT
"""The instants of a recording at which links failed, came back, or changed (``events.parquet``)."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from mptcplab.recording.record import Recording

_NS_PER_S = 1e9
_FILE = "events.parquet"
#: What takes a path away from its hosts, and what gives it back.
_FAILURES, _RESTORATIONS = ("down", "address-removed"), ("up", "address-added")


@dataclass(frozen=True)
class Instant:
    """A failure or a restoration at a time in s; ``place`` says of what, so that one follows from the other."""

    time_s: float
    is_failure: bool
    place: str = ""


def link_instants(recording: Recording) -> list[Instant]:
    """Failures and restorations, in the order of time. Both directions of a link count once."""
    rows = _events(recording)
    found = {
        (row["instant_ns"], row["kind"], row["link"])
        for row in rows.filter(pl.col("kind").is_in([*_FAILURES, *_RESTORATIONS])).iter_rows(named=True)
    }
    return [Instant(instant / _NS_PER_S, kind in _FAILURES, link) for instant, kind, link in sorted(found)]


def changes_rates(recording: Recording) -> bool:
    """Whether a link had more than one rate, or none for some time."""
    sides = (link[side] for link in recording.manifest["links"] for side in ("forward", "backward"))
    return bool(_events(recording).height) or any(side.get("trace") for side in sides)


def _events(recording: Recording) -> pl.DataFrame:
    file = recording.folder / _FILE
    columns = {"instant_ns": pl.Int64, "kind": pl.String, "link": pl.String}
    return pl.read_parquet(file) if file.exists() else pl.DataFrame(schema=columns)
