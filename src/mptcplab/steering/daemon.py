# SPDX-License-Identifier: MIT
"""The daemon on the server: takes reports, follows MPTCP's events, and decides once per period.

A decision waits for the reports of one round, so that all counters cover the same period of their agents, but at most
twice the period. The connections must have been opened with the userspace path manager (``net.mptcp.pm_type = 1``).
"""

from __future__ import annotations

import os
import select
import signal
import time
from _socket import AF_INET, AF_INET6, MSG_DONTWAIT, SOCK_CLOEXEC, SOCK_DGRAM, socket  # `socket` loads slowly

from mptcplab.steering.control import ControlSocket
from mptcplab.steering.counters import Counters
from mptcplab.steering.decision_log import log
from mptcplab.steering.kernel_link import KernelLink
from mptcplab.steering.reports import MAX_BYTES, ReportError, sender_of, verify
from mptcplab.steering.steerer import Steerer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mptcplab.steering.configuration import DaemonConfig

#: Datagrams that are read before anything else is looked at.
_BATCH = 64
#: Events of subflows within this time are answered together.
_SETTLE_NS = 20_000_000


class Daemon:
    """One server."""

    def __init__(self, config: DaemonConfig) -> None:
        self._config = config
        self._keys = {access_point.name: access_point.key for access_point in config.access_points}
        self._counters = Counters(
            config.access_points,
            patience_ns=round(config.patience_periods * config.period_ns),
            tolerance_ns=config.clock_tolerance_ns,
            max_signal_age_ms=config.max_signal_age_ms,
        )
        self._kernel = KernelLink()
        self._steerer = Steerer(config, self._kernel, self._counters)
        self._reports = _bind_socket(*config.listen)
        self._control = ControlSocket(config.control, config.control_users) if config.control else None
        self._refused = 0
        self._settle_ns: int | None = None
        self._settled_ns = self._decided_ns = time.monotonic_ns()

    def run(self) -> None:
        """Steer until SIGTERM or SIGINT. Priorities stay as they are then."""
        stop = _stop_descriptor()
        names = [access_point.name for access_point in self._config.access_points]
        log("ready", policy=self._config.policy.name, access_points=names)
        self._settle(time.monotonic_ns())
        while True:
            ready = self._wait(stop)
            if stop in ready:
                break
            if self._reports.fileno() in ready:
                self._take_reports()
            if self._control is not None and self._control.fileno() in ready:
                self._control.answer(self.status())
            now_ns = time.monotonic_ns()
            if self._kernel.fileno() in ready:
                self._take_events(now_ns)
            if self._settle_ns is not None and now_ns >= self._settle_ns:
                self._settle(now_ns)
            if self._is_time(now_ns):
                self._decided_ns = now_ns
                self._steerer.decide(now_ns)
        if self._control is not None:
            self._control.close()
        log("stop")

    def _wait(self, stop: int) -> set[int]:
        poll = select.poll()
        sources = [stop, self._kernel.fileno(), self._reports.fileno()]
        if self._control is not None:
            sources.append(self._control.fileno())
        for source in sources:
            poll.register(source, select.POLLIN)
        until_ns = self._decided_ns + 2 * self._config.period_ns
        if self._settle_ns is not None:
            until_ns = min(until_ns, self._settle_ns)
        wait_ns = max(0, until_ns - time.monotonic_ns())
        return {descriptor for descriptor, _ in poll.poll(wait_ns / 1e6 + 0.001)}

    def _is_time(self, now_ns: int) -> bool:
        # A report that comes soon after a decision is a late one of the round before: with it, one agent's counters
        # would always be from an earlier period than the others'.
        round_ns = self._decided_ns + self._config.period_ns // 2
        return self._counters.is_complete(now_ns, round_ns) or now_ns >= self._decided_ns + 2 * self._config.period_ns

    def _settle(self, now_ns: int) -> None:
        self._settle_ns, self._settled_ns = None, now_ns
        self._steerer.settle()

    def _take_events(self, now_ns: int) -> None:
        overruns = self._kernel.overruns
        if self._kernel.have_subflows_changed():
            self._settle_ns = max(now_ns, self._settled_ns + _SETTLE_NS)
        if self._kernel.overruns > overruns:
            log("overrun", count=self._kernel.overruns)

    def _take_reports(self) -> None:
        for _ in range(_BATCH):
            try:
                datagram, sender = self._reports.recvfrom(MAX_BYTES, MSG_DONTWAIT)
            except OSError:
                return
            try:
                self._take_report(datagram)
            except ReportError as error:
                # Any host may send datagrams: log the 1st, 2nd, 4th, 8th and so on, in case of a flood.
                self._refused += 1
                if self._refused.bit_count() == 1:
                    log("refused", sender=sender[0], why=str(error), count=self._refused)

    def _take_report(self, datagram: bytes) -> None:
        key = self._keys.get(sender_of(datagram))
        if key is None:
            raise ReportError("is from an unknown access point")
        self._counters.take(verify(key, datagram), time.monotonic_ns(), time.time_ns())

    def status(self) -> dict[str, Any]:
        """Return what ``mptcplab steer status`` prints."""
        now_ns = time.monotonic_ns()
        silent = set(self._counters.silent_access_points(now_ns))
        return {
            "policy": self._config.policy.name,
            "access_points": {
                name: {
                    "silent": name in silent,
                    "report_age_s": None if point.last is None else round((now_ns - point.at_ns) / 1e9, 3),
                    "stations": 0 if point.last is None else len(point.last.stations),
                }
                for name, point in self._counters.points.items()
            },
            "decisions": self._steerer.decisions,
            "switches": self._steerer.switches,
            "refused": self._refused,
            "overruns": self._kernel.overruns,
            "last": self._steerer.last,
        }


def _bind_socket(address: str, port: int) -> socket:
    receiver = socket(AF_INET6 if ":" in address else AF_INET, SOCK_DGRAM | SOCK_CLOEXEC)
    receiver.bind((address, port))
    return receiver


def _stop_descriptor() -> int:
    """Return a descriptor that becomes readable when the process is to end."""
    reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    return reader
