# SPDX-License-Identifier: MIT
"""Tail drop: first in, first out; a full queue drops arriving packets."""

from __future__ import annotations

from collections.abc import Iterator

from mptcplab.fields import Part
from mptcplab.network.behaviour import Words
from mptcplab.network.disciplines.base import Discipline, Shaping
from mptcplab.units import Rate


class TailDrop(Discipline[Part]):
    """Tail drop, which tbf does itself if the queue is measured in bytes."""

    name = "tail-drop"
    parameters = Part

    def child_qdiscs(self, shaped: Shaping, rate: Rate, parameters: Part, frame: int) -> Iterator[Words]:  # noqa: ARG002
        """See the base class."""
        if shaped.queue.packets is not None:
            yield ("pfifo", "limit", str(int(shaped.queue.packets)))
