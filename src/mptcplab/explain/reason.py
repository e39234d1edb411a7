# SPDX-License-Identifier: MIT
"""The class of reasons, and what a reason says if it applies: a finding.

:mod:`mptcplab.explain.registry` has all reasons; the modules of :mod:`mptcplab.explain.catalog` define them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mptcplab.explain.evidence import NEEDS, Evidence

Kind = Literal["no subflow", "fallback", "waiting", "low sum", "failover"]
#: The kinds in the order in which they are shown: what comes first explains what comes later.
KINDS: tuple[Kind, ...] = ("fallback", "no subflow", "failover", "waiting", "low sum")
#: Where a scenario shows its reason: in the row of its run; where `mptcplab explain` reads the run's captures alone, or
#: the client's files alone; or in what the hosts print in a session, whose programs no workload of the lab has.
View = Literal["row", "captures", "client", "session"]
#: A counter or packet that only this reason can have caused; what fits several reasons; what merely agrees with it.
PROOF, STRONG, HINT = 1.0, 0.7, 0.4


@dataclass(frozen=True, kw_only=True)
class Sign:
    """One occurrence that a reason's function recognised.

    ``values`` fill the placeholders of the reason's sentence, ``lines`` are the evidence, one observation each.
    ``where`` is the path, host or connection, empty for all. ``strength`` is how much it proves, 0 to 1. ``cost`` is
    what it cost, in seconds of waiting or as a part of the rate, and ranks findings of the same strength.
    """

    lines: tuple[str, ...]
    values: Mapping[str, Any] = field(default_factory=dict)
    where: str = ""
    strength: float = STRONG
    cost: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A reason that applies. ``text`` is its sentence with the evidence and the cure: the note of a table's row.

    ``times`` is how often it applied at the same place; the sentence is about the most costly. ``is_noted`` is
    copied from :class:`Reason`.
    """

    reason: str
    kind: Kind
    title: str
    sentence: str
    cure: str
    confirm: str
    page: str
    where: str
    lines: tuple[str, ...]
    strength: float
    cost: float
    is_noted: bool = True
    times: int = 1

    @property
    def text(self) -> str:
        """Return sentence and cure, without a full stop."""
        # Only waits have a length.
        longest = "the longest of " if self.kind in ("waiting", "failover") else ""
        times = f" ({longest}{self.times} times)" if self.times > 1 else ""
        return f"{self.sentence}{times}; {self.cure}"

    def document(self) -> dict[str, Any]:
        """Return the finding as JSON data."""
        return {
            "reason": self.reason,
            "kind": self.kind,
            "sentence": self.sentence,
            "cure": self.cure,
            "confirm": self.confirm,
            "page": self.page,
            "where": self.where,
            "evidence": list(self.lines),
            "strength": self.strength,
            "times": self.times,
        }


@dataclass(frozen=True, kw_only=True)
class Reason:
    """One reason why MPTCP does not do what was expected.

    ``recognise`` gets evidence that has all of ``needs`` and yields a sign for each occurrence. ``sentence`` has
    placeholders for the signs' values; sentence, ``cure`` and ``confirm`` (what would settle the matter) have no full
    stop. ``explanation`` is a paragraph for docs/reasons.md: what the kernel does, and where. ``page`` is the page of
    the documentation with its anchor. ``scenario`` is the file in tests/lab/reasons that produces it, without suffix,
    if it does not have the name of the reason, and ``shown_in`` says where; a session's file is in the folder
    sessions there. Where a lab cannot produce the reason, ``why_no_scenario`` says why. ``after`` names reasons that
    explain this one: if one of them applies, this one is left out. Tables of runs have notes of reasons that are
    ``is_noted``; they have warnings of their own of the others.
    """

    key: str
    kind: Kind
    title: str
    needs: tuple[str, ...]
    recognise: Callable[[Evidence], Iterable[Sign]]
    sentence: str
    cure: str
    confirm: str
    explanation: str
    page: str
    scenario: str = ""
    shown_in: View = "row"
    why_no_scenario: str = ""
    after: tuple[str, ...] = ()
    is_noted: bool = True

    def list_missing(self, lacking: frozenset[str]) -> list[str]:
        """Return what is missing, in words, of evidence without ``lacking``; an empty list if it can be judged."""
        return [NEEDS[need][0] for need in self.needs if need in lacking]

    def findings(self, evidence: Evidence) -> Iterator[Finding]:
        """Yield a finding for each occurrence; none if the evidence is not enough to judge."""
        if not evidence.lacking.isdisjoint(self.needs):
            return
        for sign in self.recognise(evidence):
            yield Finding(
                reason=self.key,
                kind=self.kind,
                title=self.title,
                sentence=self.sentence.format(**sign.values),
                cure=self.cure.format(**sign.values),
                confirm=self.confirm,
                page=self.page,
                where=sign.where,
                lines=sign.lines,
                strength=sign.strength,
                cost=sign.cost,
                is_noted=self.is_noted,
            )

    @property
    def lab_scenario(self) -> str | None:
        """The file in tests/lab/reasons that produces it, as ``no-endpoint.toml``; None if a lab cannot."""
        name = self.scenario or self.key
        file = f"sessions/{name}.sh" if self.shown_in == "session" else f"{name}.toml"
        return None if self.why_no_scenario else file
