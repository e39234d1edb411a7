# SPDX-License-Identifier: MIT
"""Checks that the traffic of a moved terminal went over to its new access point, by the kernel's counters."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Sent = Mapping[tuple[object, ...], tuple[str, int]]

#: Bytes in a period below which a terminal's share says nothing.
_MIN_BYTES = 30_000
#: The first period has what was queued for the old subflow before the move.
_MAX_PERIODS = 2


class Check:
    """A move whose effect is not known yet. ``address`` is the terminal's at the new access point."""

    def __init__(self, source: str, to: str, address: str, sent: Sent) -> None:
        self.source, self.to, self._address, self._sent = source, to, address, sent
        self.share: float | None = None
        self._periods = 0

    def verdict(self, sent: Sent) -> str | None:
        """Return ``moved``, ``stuck`` or ``idle`` after another period; None if it takes a further one to tell.

        ``share`` then has the part of the period's bytes that went over the new access point, None if there were none.
        """
        grown = {
            key: (address, bytes_ - self._sent[key][1]) for key, (address, bytes_) in sent.items() if key in self._sent
        }
        there = sum(count for address, count in grown.values() if address == self._address)
        total = sum(count for _, count in grown.values())
        self._sent, self._periods = sent, self._periods + 1
        self.share = there / total if total > 0 else None
        if self.share is not None and total >= _MIN_BYTES and 2 * there >= total:
            return "moved"
        if self._periods < _MAX_PERIODS:
            return None
        return "idle" if total < _MIN_BYTES else "stuck"
