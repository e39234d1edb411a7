# SPDX-License-Identifier: MIT
"""What the reports of all agents say about a period: received bytes of each access point, and who hears whom."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mptcplab.steering.reports import Report, Station


class Period:
    """The period between two decisions, of one access point.

    ``received`` and ``sent`` are bytes from and to its stations, ``sent_to`` those by address, ``rssi_dbm`` the last
    signal of each address; None where the agent does not know it.
    """

    def __init__(self) -> None:
        self.received = self.sent = 0
        self.sent_to: dict[str, int] = {}
        self.rssi_dbm: dict[str, int | None] = {}


class AccessPoint:
    """The reports of one agent: the last one, and the one at the last decision. ``is_new``: these are not the same."""

    def __init__(self, report: Report, now_ns: int) -> None:
        self.last, self.at_ns, self.is_new = report, now_ns, True
        self._before: dict[str, Station] | None = None

    def take(self, report: Report, now_ns: int) -> bool:
        """Take a report unless it is old, and return whether it is new."""
        if (report.boot, report.number) <= (self.last.boot, self.last.number):
            return False
        self.last, self.at_ns, self.is_new = report, now_ns, True
        return True

    def forget(self) -> None:
        """Begin anew with the next report."""
        self._before = None

    def period(self) -> Period | None:
        """Return what happened since the last call; None at the first one, and without a new report."""
        if not self.is_new:
            return None
        before, self._before, self.is_new = self._before, self.last.stations, False
        if before is None:
            return None
        found = Period()
        for name, station in self.last.stations.items():
            earlier = before.get(name)
            received = _grown(earlier.rx_bytes if earlier else 0, station.rx_bytes)
            sent = _grown(earlier.tx_bytes if earlier else 0, station.tx_bytes)
            found.received += received
            found.sent += sent
            for address in station.addresses:
                found.sent_to[address] = sent
                found.rssi_dbm[address] = station.rssi_dbm
        return found


def _grown(before: int, after: int) -> int:
    """Return by how much a counter has grown. It begins at zero when a station comes again."""
    return after - before if after >= before else after


class Counters:
    """The access points of all agents. One whose reports have stopped for ``patience_ns`` is left out."""

    def __init__(self, patience_ns: int) -> None:
        self._patience_ns = patience_ns
        self._points: dict[str, AccessPoint] = {}

    def take(self, report: Report, now_ns: int) -> bool:
        """Take a report, and return whether it is new."""
        known = self._points.get(report.access_point)
        if known is None:
            self._points[report.access_point] = AccessPoint(report, now_ns)
            return True
        if now_ns - known.at_ns > self._patience_ns:
            # What was counted during the silence is not that of a period.
            known.forget()
        return known.take(report, now_ns)

    def silent(self, now_ns: int) -> list[str]:
        """Return the access points whose reports have stopped."""
        return [name for name, one in sorted(self._points.items()) if now_ns - one.at_ns > self._patience_ns]

    def is_complete(self, now_ns: int) -> bool:
        """Return whether every access point that is not silent has reported since the last decision."""
        silent = set(self.silent(now_ns))
        awaited = [one.is_new for name, one in self._points.items() if name not in silent]
        return bool(awaited) and all(awaited)

    def periods(self, now_ns: int) -> dict[str, Period]:
        """Return the period of each access point that reports, by name."""
        silent = set(self.silent(now_ns))
        found = {name: one.period() for name, one in sorted(self._points.items())}
        return {name: one for name, one in found.items() if one is not None and name not in silent}
