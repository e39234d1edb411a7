# SPDX-License-Identifier: MIT
"""Sequences of events: as TCP makes them, of parts in random order, and without sense.

Every window that TCP itself sets is an event, so a sequence is the same whatever the congestion control does with it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from tests.unit.coupled_v09.driver import (
    CLOSE_WAIT,
    COMPLETE_CWR,
    CWND_RESTART,
    CWR,
    DISORDER,
    ESTABLISHED,
    EVENT_LOSS,
    FIN_WAIT1,
    LOSS,
    OPEN,
    PATHS,
    RECOVERY,
    Event,
)

#: Segment sizes of Ethernet, IPv6 with options, and a path with tunnels.
_SIZES = (1448, 1428, 1220)


class Connection:
    """Parts of which a connection's life is made; random, but as the generator is seeded."""

    def __init__(self, rng: random.Random, paths: int = 2, base_us: tuple[int, int] = (2_000, 200_000)) -> None:
        self._rng = rng
        self._size = [rng.choice(_SIZES) for _ in range(PATHS)]
        low, high = base_us
        self._base_us: list[int] = [round(low * (high / low) ** rng.random()) for _ in range(PATHS)]
        self.paths = paths

    def open(self) -> Iterator[Event]:
        """Join all subflows of the beginning, one after the other."""
        for path in range(self.paths):
            yield from self.join(path)

    def join(self, path: int) -> Iterator[Event]:
        """A subflow with a round-trip time from its handshake; sequence numbers wrap soon on some."""
        first = self._rng.choice([0, 1_000_000, 0xFFFFFFFF - 200_000])
        yield Event("join", path, (self._size[path], 10, first))
        yield self._rtt(path)

    def leave(self, path: int) -> Iterator[Event]:
        """The subflow closes: first it may not send, which others see, then it is gone; then it comes back."""
        yield Event("sk-state", path, (FIN_WAIT1,))
        for other in range(self.paths):
            yield from self.acks(other, 15)
        yield Event("leave", path)
        yield from self.join(path)

    def half_closed(self, path: int) -> Iterator[Event]:
        """The peer has closed its direction; this one goes on."""
        yield Event("sk-state", path, (CLOSE_WAIT,))
        yield from self.acks(path, 5)
        yield Event("sk-state", path, (ESTABLISHED,))

    def _delay_us(self, path: int) -> int:
        base = self._base_us[path]
        return base + self._rng.choice([0, 0, self._rng.randrange(base // 20 + 1), self._rng.randrange(base)])

    def _rtt(self, path: int) -> Event:
        return Event("rtt", path, (8 * self._delay_us(path) + self._rng.randrange(8),))

    def acks(self, path: int, count: int) -> Iterator[Event]:
        """Acknowledgements of one segment to a few, most of two, on a window that is the limit, mostly."""
        for _ in range(count):
            acked = self._rng.choice([1, 2, 2, 2, 2, 3, 8])
            size = self._size[path]
            if self._rng.random() < 0.3:
                yield self._rtt(path)
            yield Event("sample", path, (self._delay_us(path) if self._rng.random() < 0.95 else -1,))
            yield Event("send", path, (size * self._rng.choice([0, acked, acked, 2 * acked]),))
            yield Event("ack", path, (size * acked, acked, int(self._rng.random() < 0.95)))

    def recovery(self, path: int) -> Iterator[Event]:
        """Fast recovery, which sets windows by itself; at times a reordering that is undone."""
        yield Event("ca-state", path, (DISORDER,))
        yield Event("ssthresh", path)
        yield Event("ca-state", path, (RECOVERY,))
        for other in range(self.paths):
            yield from self.acks(other, self._rng.randrange(8)) if other != path else ()
        if self._rng.random() < 0.2:
            yield Event("undo", path)
        else:
            yield Event("settle", path)
            yield Event("event", path, (COMPLETE_CWR,))
        yield Event("ca-state", path, (OPEN,))

    def congestion_notified(self, path: int) -> Iterator[Event]:
        """The same by ECN."""
        yield Event("ssthresh", path)
        yield Event("ca-state", path, (CWR,))
        yield Event("settle", path)
        yield Event("event", path, (COMPLETE_CWR,))
        yield Event("ca-state", path, (OPEN,))

    def timeout(self, path: int) -> Iterator[Event]:
        """One retransmission timeout or some, slow start, and the end of it; at times out of fast recovery."""
        if self._rng.random() < 0.3:
            yield Event("ssthresh", path)
            yield Event("ca-state", path, (RECOVERY,))
        yield Event("ssthresh", path)
        yield Event("event", path, (EVENT_LOSS,))
        yield Event("cwnd", path, (self._rng.randrange(1, 4),))
        yield Event("ca-state", path, (LOSS,))
        yield Event("retransmits", path, (1,))
        yield from self.acks(path, self._rng.randrange(4))
        if self._rng.random() < 0.3:
            yield Event("ssthresh", path)
            yield Event("event", path, (EVENT_LOSS,))
            yield Event("ca-state", path, (LOSS,))
        yield Event("retransmits", path, (0,))
        yield from self.acks(path, self._rng.randrange(12))
        yield Event("ca-state", path, (OPEN,))

    def restart(self, path: int) -> Iterator[Event]:
        """TCP restarts with a smaller window after idle time."""
        yield Event("event", path, (CWND_RESTART,))
        yield Event("cwnd", path, (10,))

    def large(self, path: int) -> Iterator[Event]:
        """A window of another order of magnitude, where increases are truncated to other numbers."""
        window = round(10 ** self._rng.uniform(0, 4.5))
        yield Event("cwnd", path, (window,))
        yield from self.acks(path, 20)

    def clamp_window(self, path: int) -> Iterator[Event]:
        """A window that may not grow, and then may again."""
        yield Event("clamp", path, (self._rng.randrange(2, 30),))
        yield from self.acks(path, 20)
        yield Event("clamp", path, (0xFFFFFFFF,))

    def life(self, parts: int) -> Iterator[Event]:
        """That many parts, with growth between any two."""
        kinds = [self.recovery] * 3 + [self.timeout, self.large, self.leave] * 2
        kinds += [self.congestion_notified, self.restart, self.clamp_window, self.half_closed]
        yield from self.open()
        for _ in range(parts):
            for _ in range(self._rng.randrange(6)):
                yield from self.acks(self._rng.randrange(self.paths), self._rng.randrange(1, 20))
            yield from self._rng.choice(kinds)(self._rng.randrange(self.paths))


def lifelike(seed: int, parts: int, paths: int = 2, base_us: tuple[int, int] = (2_000, 200_000)) -> list[Event]:
    """A connection of that many paths and parts, with round-trip times from that range."""
    return list(Connection(random.Random(seed), paths, base_us).life(parts))


def senseless(seed: int, count: int, paths: int = 3) -> list[Event]:
    """Events in an order and with values that TCP never makes; but no window of 0, and no RTT beyond 100 s."""
    rng = random.Random(seed)
    choices: dict[str, Callable[[], tuple[int, ...]]] = {
        "join": lambda: (rng.choice(_SIZES), rng.randrange(1, 50), rng.randrange(1 << 32)),
        "join-tcp": lambda: (rng.choice(_SIZES), rng.randrange(1, 50), rng.randrange(1 << 32)),
        "leave": lambda: (),
        "sk-state": lambda: (rng.randrange(1, 12),),
        "ca-state": lambda: (rng.randrange(5),),
        "rtt": lambda: (rng.choice([0, rng.randrange(1, 1 << rng.randrange(1, 30))]),),
        "sample": lambda: (rng.choice([-1, rng.randrange(1 << rng.randrange(1, 27))]),),
        "send": lambda: (rng.randrange(1 << 20),),
        "ack": lambda: (rng.randrange(1 << 20), rng.randrange(1, 100), int(rng.random() < 0.8)),
        "ssthresh": lambda: (),
        "settle": lambda: (),
        "cwnd": lambda: (round(10 ** rng.uniform(0, 6)),),
        "event": lambda: (rng.randrange(6),),
        "retransmits": lambda: (rng.choice([0, 0, 1]),),
        "clamp": lambda: (rng.choice([rng.randrange(1, 1000), 0xFFFFFFFF]),),
        "undo": lambda: (),
    }
    rare = ("join", "join-tcp", "leave", "sk-state", "clamp")
    names = [name for name in choices if name not in rare] * 2 + list(rare) + ["ack", "sample"] * 20
    events = [Event("join", path, choices["join"]()) for path in range(paths)]
    while len(events) < count:
        name = rng.choice(names)
        events.append(Event(name, rng.randrange(paths), choices[name]()))
    return events


def _settle(path: int, window: int, rtt_us: int) -> list[Event]:
    """A subflow in congestion avoidance."""
    joined = [Event("join", path, (1448, 10, 0)), Event("rtt", path, (8 * rtt_us,)), Event("cwnd", path, (2 * window,))]
    return [*joined, Event("ssthresh", path), Event("settle", path), Event("ca-state", path, (OPEN,))]


def _round(path: int, rtts_us: list[int]) -> list[Event]:
    """One of wVegas's rounds, with these samples."""
    samples = [Event("sample", path, (rtt_us,)) for rtt_us in rtts_us]
    return [Event("send", path, (1448,)), *samples, Event("ack", path, (1448, 1, 1))]


def timeout_beside_others() -> list[Event]:
    """An event of a timeout, without TCP's other signs of it, in a connection whose other subflow looks at the first.

    LIA: the other's increase is computed anew. wVegas: its share becomes the whole.
    """
    both = _settle(0, 5, 100_000) + _settle(1, 5, 100_000)
    growth = [Event("ack", 0, (1448, 1, 1))] * 30
    lia = [*both, *growth, Event("cwnd", 1, (100,)), Event("event", 1, (EVENT_LOSS,)), *growth]
    full = [999, 1299, 1299]
    queued = _settle(0, 40, 1000) + _settle(1, 40, 1000) + _round(1, full) + _round(1, full)
    lost = [Event("sample", 1, (1299,)), Event("event", 1, (EVENT_LOSS,))]
    return [*lia, *queued, *lost, *_round(0, full), *_round(0, full)]
