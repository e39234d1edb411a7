# SPDX-License-Identifier: MIT
"""The outcomes of ``python -m tests.smp --record``: one entry each in outcomes.json, and the table of all."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "outcomes.json"
#: The place in a function, the CPU and the task, which differ between two reports of one kind.
_INSTANCE = re.compile(r"\+0x[\da-f]+/0x[\da-f]+|, CPU#\d+: \S+")
_HEAD = (
    "kernel",
    "seed",
    "minutes",
    "events",
    "connections",
    "of MPTCP",
    "further subflows",
    "changes of algorithms",
    "complaints",
)


@dataclass(frozen=True)
class Outcome:
    """One run. It counts the MPTCP connections and subflows that the guest's client opened."""

    kernel: str
    variant: str
    is_plain: bool
    seed: int
    cpus: int
    seconds: int
    events: int
    connections: int
    mptcp_connections: int
    joins: int
    changes: int
    """Changes of congestion controls and schedulers on sockets that were sending."""
    complaints: dict[str, int]
    """The number of reports by title, without mainline's own."""
    known: int
    """Complaints that are listed as mainline's own in known.toml."""
    stuck: int
    """Programs of the guest that did not end."""

    @property
    def row(self) -> str:
        """The row of the table."""
        texts = [f"{count} × `{title}`" for title, count in self.complaints.items()]
        texts += [f"{self.stuck} programs did not end"] if self.stuck else []
        texts += [f"{self.known} of mainline's, listed"] if self.known else []
        cells = (
            f"{self.kernel}, {self.variant}{', plain' if self.is_plain else ''}",
            self.seed,
            round(self.seconds / 60),
            f"{self.events:,}",
            f"{self.connections:,}",
            f"{self.mptcp_connections:,}",
            f"{self.joins:,}",
            f"{self.changes:,}",
            "; ".join(texts) or "none",
        )
        return "| " + " | ".join(map(str, cells)) + " |"


def outcome_of(
    report: dict[str, Any], *, variant: str, is_plain: bool, seed: int, complaints: list[str], known: int
) -> Outcome:
    """Return the entry for a run's report. ``complaints`` has a title for each complaint."""
    done, client = report["done"], report["counters"]["client"]
    return Outcome(
        kernel=report["kernel"].partition("-")[0],
        variant=variant,
        is_plain=is_plain,
        seed=seed,
        cpus=report["cpus"],
        seconds=report["seconds"],
        events=sum(count for name, count in done.items() if name.startswith("event: ")),
        connections=sum(count for name, count in done.items() if name.startswith("connections: ")),
        mptcp_connections=client["MPTcpExtMPCapableSYNACKRX"],
        joins=client["MPTcpExtMPJoinSynAckRx"],
        changes=done["socket: control"] + done["socket: scheduler"],
        complaints=dict(Counter(_INSTANCE.sub("", title) for title in complaints)),
        known=known,
        stuck=report["processes killed"],
    )


def load(file: Path = FILE) -> list[Outcome]:
    """Return all entries, oldest first."""
    return [Outcome(**entry) for entry in json.loads(file.read_text())]


def record(outcome: Outcome, file: Path = FILE) -> None:
    """Append an entry."""
    file.write_text(json.dumps([asdict(entry) for entry in (*load(file), outcome)], indent=1) + "\n")


def table() -> str:
    """Return the table for the documentation."""
    lines = [f"| {' | '.join(_HEAD)} |", "|" + " --- |" * len(_HEAD)]
    return "\n".join([*lines, *(outcome.row for outcome in load())]) + "\n"
