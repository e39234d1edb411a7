# SPDX-License-Identifier: MIT
"""The answer to a user who names files: ranked reasons with their places, and what is missing for more."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mptcplab.explain.evidence import MPTCP, Evidence
from mptcplab.explain.readers.facts import Place
from mptcplab.explain.reason import Finding
from mptcplab.explain.registry import explain, list_undecided, reasons
from mptcplab.explain.sources import Sources

_MAX_PLACES = 3
#: Words of an evidence line: names of counters, addresses with or without a port, settings, names of devices.
_WORD = re.compile(r"\[[0-9a-fA-F:.]+\]:\d+|[A-Za-z0-9][\w.:-]*[A-Za-z0-9]")
_ENDPOINT = re.compile(r"\bendpoints?\b")
_LIMITS = re.compile(r"\b(?:add_addr_accepted|subflows|limits?)\b")


@dataclass(frozen=True)
class EvidenceLine:
    """A line of evidence, and where it was read; nowhere if it follows from several lines or from packets."""

    text: str
    places: tuple[Place, ...]


@dataclass(frozen=True)
class Explanation:
    """A reason that applies, with the places of its evidence."""

    finding: Finding
    evidence: tuple[EvidenceLine, ...]


@dataclass(frozen=True)
class Answer:
    """The reasons that the files show. ``lacking`` has what is not in them, with the number of reasons that need it.

    ``gaps`` says what captures do not have of the connections in them.
    """

    hosts: tuple[str, ...]
    understood: tuple[str, ...]
    skipped: tuple[str, ...]
    unread: tuple[str, ...]
    gaps: tuple[str, ...]
    explanations: tuple[Explanation, ...]
    judged: int
    total: int
    lacking: tuple[tuple[str, int], ...]

    def document(self) -> dict[str, Any]:
        """Return the answer as JSON data."""
        return {
            "hosts": list(self.hosts),
            "files": list(self.understood),
            "skipped": list(self.skipped),
            "unread": list(self.unread),
            "gaps": list(self.gaps),
            "reasons": [
                explanation.finding.document()
                | {
                    "evidence": [
                        {
                            "text": observation.text,
                            "places": [{"file": place.file, "line": place.line} for place in observation.places],
                        }
                        for observation in explanation.evidence
                    ]
                }
                for explanation in self.explanations
            ],
            "judged": self.judged,
            "total": self.total,
            "lacking": [{"needed": words, "reasons": count} for words, count in self.lacking],
        }


def answer(sources: Sources, evidence: Evidence | None = None) -> Answer:
    """Return what the files show, judged by all reasons. ``evidence`` replaces what the sources have alone."""
    evidence = sources.evidence if evidence is None else evidence
    missing = list_undecided(evidence)
    lacking = Counter(words for needs in missing.values() for words in needs)
    return Answer(
        hosts=tuple(_describe(evidence)),
        understood=tuple(sources.understood),
        skipped=tuple(sources.skipped),
        unread=tuple(sources.unread),
        gaps=tuple(_gaps(evidence)),
        explanations=tuple(
            Explanation(finding, tuple(_observation(sources, line) for line in finding.lines))
            for finding in explain(evidence)
        ),
        judged=len(reasons()) - len(missing),
        total=len(reasons()),
        lacking=tuple(lacking.most_common()),
    )


def _describe(evidence: Evidence) -> Iterable[str]:
    """Yield each host with its part in the connections."""
    parts = {True: "opens the connections", False: "accepts the connections", None: "client or server is not known"}
    for host in evidence.hosts:
        yield f"{host.name} ({parts[host.opens]})"


def _gaps(evidence: Evidence) -> Iterable[str]:
    """Yield what captures do not have of each connection."""
    for connection in evidence.captured or ():
        yield from (f"connection {connection.number}: {gap}" for gap in connection.gaps)


def _observation(sources: Sources, line: str) -> EvidenceLine:
    """Find where the words of a line of evidence were read, at the host that it names or at any."""
    named = [host for host in sources.facts if re.search(rf"(?<!\w){re.escape(host)}(?!\w)", line)]
    kind = "endpoint {}" if _ENDPOINT.search(line) else "route {}" if line.startswith("route") else "{}"
    words = [word for match in _WORD.findall(line) for word in (f"{MPTCP}{match}", kind.format(match))]
    if _LIMITS.search(line):
        words.append("limits")
    for hosts in (named, list(sources.facts)):
        known = [sources.places(host, word) for host in hosts for word in words]
        # A line that has several of the words says more than one with a single one; of several looks, the last counts.
        count = Counter(place for places in known for place in places)
        most = max(count.values(), default=0)
        best = {
            place: None
            for places in known
            for place in [candidate for candidate in places if count[candidate] == most][-1:]
        }
        if best:
            return EvidenceLine(line, tuple(best)[:_MAX_PLACES])
    return EvidenceLine(line, ())
