# SPDX-License-Identifier: MIT
"""What the reports of all agents say about a period: received bytes of each access point, and which terminals it hears.

The daemon trusts an agent within limits. Its times must grow and be close to this machine's clock; its addresses must
be in the networks of its access point; its bytes must fit the fastest rate that the access point may have. And the
bytes that it received must not contradict the packets that this machine received through it (:func:`contradicts`).
"""

from __future__ import annotations

from mptcplab.steering.reports import ReportError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mptcplab.steering.configuration import AccessPointConfig
    from mptcplab.steering.reports import Station, StationReport

_NS = 1_000_000_000
#: A TCP segment without data, with the shortest headers of IPv4.
_MIN_PACKET_BYTES = 40
#: Packets below which nothing can be concluded from their number.
_MIN_PACKETS = 20


class Period:
    """The period between two decisions, of one access point.

    ``received`` and ``sent`` are bytes from and to its stations; ``rssi_dbm`` is the last signal of each address, None
    where the agent does not know it. ``is_wired``: signals do not matter.
    """

    def __init__(self, *, is_wired: bool) -> None:
        self.received = self.sent = 0
        self.rssi_dbm: dict[str, int | None] = {}
        self.is_wired = is_wired


class AccessPointCounters:
    """The reports of one agent: the last one, and the one at the last decision. ``is_new``: these are not the same."""

    def __init__(self, config: AccessPointConfig, *, tolerance_ns: int, max_signal_age_ms: int) -> None:
        self._config, self._tolerance_ns, self._max_signal_age_ms = config, tolerance_ns, max_signal_age_ms
        self.last: StationReport | None = None
        self.at_ns = 0
        self.is_new = False
        self._before: dict[str, Station] | None = None

    def take(self, report: StationReport, now_ns: int, clock_ns: int) -> None:
        """Take a report at an instant of the monotonic clock and of the time of day.

        :raises ReportError: if it is old, comes a second time, or is not credible.
        """
        if abs(report.time_ns - clock_ns) > self._tolerance_ns:
            raise ReportError("is from another time; are both clocks right?")
        if self.last is not None and report.time_ns <= self.last.time_ns:
            raise ReportError("is not later than the last one")
        self._check_addresses(report)
        if self.last is not None:
            self._check_rate(self.last, report)
        self.last, self.at_ns, self.is_new = report, now_ns, True

    def _check_addresses(self, report: StationReport) -> None:
        given = [address for station in report.stations.values() for address in station.addresses]
        if len(set(given)) < len(given):
            raise ReportError("has two stations with one address")
        for address in given:
            if not self._config.covers(address):
                raise ReportError("has an address outside of the access point's networks")

    def _check_rate(self, last: StationReport, report: StationReport) -> None:
        limit = self._config.max_bps * (report.time_ns - last.time_ns) / (8 * _NS)
        if max(_growths(last.stations, report.stations)) > limit:
            raise ReportError("has more bytes than the access point can carry")

    def forget(self) -> None:
        """Start again with the next report."""
        self._before = None

    def period(self) -> Period | None:
        """Return what happened since the last call; None at the first one, and without a new report."""
        if not self.is_new or self.last is None:
            return None
        before, self._before, self.is_new = self._before, self.last.stations, False
        if before is None:
            return None
        period = Period(is_wired=self._config.is_wired)
        period.received, period.sent = _growths(before, self.last.stations)
        for station in self.last.stations.values():
            is_recent = station.heard_ms <= self._max_signal_age_ms
            for address in station.addresses:
                period.rssi_dbm[address] = station.rssi_dbm if is_recent else None
        return period


def _growths(before: Mapping[str, Station], after: Mapping[str, Station]) -> tuple[int, int]:
    """Return the bytes received and sent between two reports.

    A counter begins at zero when its station comes again. The first report of a station only says where its counters
    are.
    """
    pairs = [(before[name], station) for name, station in after.items() if name in before]
    return (
        sum(_counter_growth(old.rx_bytes, new.rx_bytes) for old, new in pairs),
        sum(_counter_growth(old.tx_bytes, new.tx_bytes) for old, new in pairs),
    )


def _counter_growth(before: int, after: int) -> int:
    return after - before if after >= before else after


class Counters:
    """The access points of all agents. An access point counts as silent after ``patience_ns`` without a report."""

    def __init__(
        self,
        access_points: Iterable[AccessPointConfig],
        *,
        patience_ns: int,
        tolerance_ns: int,
        max_signal_age_ms: int,
    ) -> None:
        self._patience_ns = patience_ns
        self.points = {
            access_point.name: AccessPointCounters(
                access_point, tolerance_ns=tolerance_ns, max_signal_age_ms=max_signal_age_ms
            )
            for access_point in access_points
        }

    def take(self, report: StationReport, now_ns: int, clock_ns: int) -> None:
        """Take a report. :raises ReportError: if it is not credible."""
        self.points[report.access_point].take(report, now_ns, clock_ns)

    def silent_access_points(self, now_ns: int) -> list[str]:
        """Return the access points that have not reported yet, or whose reports have stopped."""
        return [name for name, point in sorted(self.points.items()) if self._is_silent(point, now_ns)]

    def _is_silent(self, point: AccessPointCounters, now_ns: int) -> bool:
        return point.last is None or now_ns - point.at_ns > self._patience_ns

    def is_complete(self, now_ns: int, since_ns: int) -> bool:
        """Return whether every access point that is not silent has reported since an instant."""
        awaited = [point.at_ns >= since_ns for point in self.points.values() if not self._is_silent(point, now_ns)]
        return bool(awaited) and all(awaited)

    def periods(self, now_ns: int) -> dict[str, Period]:
        """Return the period of each access point that reports, by name.

        Bytes counted while an agent was silent do not belong to a period.
        """
        periods: dict[str, Period] = {}
        for name, point in sorted(self.points.items()):
            if self._is_silent(point, now_ns):
                point.forget()
            elif (period := point.period()) is not None:
                periods[name] = period
        return periods


def contradicts(period: Period, packets: int) -> bool:
    """Return whether an access point reports less than half of the bytes that must have come through it.

    ``packets`` is the number of TCP segments that this machine received from its terminals meanwhile. A counter that
    stands still while terminals acknowledge data is broken; the access point is not empty. The half is for
    the two clocks: a report may be up to one period older than the number of packets.
    """
    return packets >= _MIN_PACKETS and 2 * period.received < packets * _MIN_PACKET_BYTES


def drop_conflicts(periods: Mapping[str, Period]) -> set[str]:
    """Remove each address that several access points claim from all of them; return these addresses."""
    seen: set[str] = set()
    claimed: set[str] = set()
    for period in periods.values():
        claimed |= seen & period.rssi_dbm.keys()
        seen |= period.rssi_dbm.keys()
    for period in periods.values():
        for address in claimed:
            period.rssi_dbm.pop(address, None)
    return claimed
