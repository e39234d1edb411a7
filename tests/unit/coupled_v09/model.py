# SPDX-License-Identifier: MIT
"""The out-of-tree kernel's congestion controls once more, in Python's unbounded integers: for random events.

Written from their behaviour and apart from `kernel/net/mptcp/v09*.c`: one object holds a whole connection, fractions
are exact where the kernel's do not overflow, and are truncated by `wrap` where it does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tests.unit.coupled_v09.driver import (
    CLOSE_WAIT,
    COMPLETE_CWR,
    CWND_RESTART,
    CWR,
    ESTABLISHED,
    EVENT_LOSS,
    INFINITE_SSTHRESH,
    LOSS,
    OPEN,
    RECOVERY,
    Event,
    Window,
)

U32 = (1 << 32) - 1
U64 = (1 << 64) - 1


def wrap(value: int, bits: int) -> int:
    """An unsigned number of a number of bits."""
    return value & ((1 << bits) - 1)


def to_signed(value: int) -> int:
    """A number of 32 bits as two's complement."""
    value = wrap(value, 32)
    return value - (1 << 32) if value >> 31 else value


@dataclass
class Subflow:
    """A TCP socket, and what the congestion controls keep of it."""

    mptcp: bool
    mss: int
    cwnd: int
    una: int
    nxt: int
    ssthresh: int = INFINITE_SSTHRESH
    clamp: int = U32
    count: int = 0
    prior: int = 0
    srtt: int = 0
    sk_state: int = ESTABLISHED
    ca_state: int = OPEN
    retransmits: int = 0
    limited: bool = False
    kept: dict[str, int] = field(default_factory=dict)

    @property
    def can_send(self) -> bool:
        """Whether its state allows data."""
        return self.sk_state in (ESTABLISHED, CLOSE_WAIT)

    @property
    def slow_start(self) -> bool:
        """Whether the window is below the threshold."""
        return self.cwnd < self.ssthresh

    def grow_slowly(self, acked: int) -> int:
        """Slow start; return the acked segments that are left."""
        grown = min(wrap(self.cwnd + acked, 32), self.ssthresh)
        acked -= grown - self.cwnd
        self.cwnd = min(grown, self.clamp)
        return acked

    def grow_as_reno(self, acked: int) -> None:
        """Slow start, then a segment for each window of segments."""
        if not self.limited:
            return
        if self.slow_start:
            acked = self.grow_slowly(acked)
        if acked:
            if self.count >= self.cwnd:
                self.count, self.cwnd, window = 0, self.cwnd + 1, self.cwnd
            else:
                window = self.cwnd
            more, self.count = divmod(self.count + acked, window)
            self.cwnd = min(self.cwnd + more, self.clamp)

    def count_ack(self, acks: int) -> bool:
        """Add a segment to the window after ``acks`` + 1 ACKs; return whether the window has grown."""
        if self.count < wrap(acks, 32):
            self.count += 1
            return False
        self.count = 0
        if self.cwnd >= self.clamp:
            return False
        self.cwnd += 1
        return True


class Connection:
    """What TCP does with a congestion control. Subflows are in the order in which they joined."""

    def __init__(self) -> None:
        self.paths: dict[int, Subflow] = {}

    def counted_subflows(self) -> list[Subflow]:
        """The subflows that siblings look at, the newest first."""
        return [each for each in reversed(self.paths.values()) if each.mptcp and each.srtt and each.can_send]

    def init(self, subflow: Subflow) -> None:
        """The subflow's connection is established."""

    def grow(self, subflow: Subflow, segments: int) -> None:
        """Grow."""
        raise NotImplementedError

    def sample_rtt(self, subflow: Subflow, rtt_us: int) -> None:
        """A round-trip time was measured, if it is not negative."""

    def state_changes(self, subflow: Subflow, state: int) -> None:
        """TCP's congestion state is about to change."""

    def handle_event(self, subflow: Subflow, event: int) -> None:
        """One of TCP's events."""

    def ssthresh_after_loss(self, subflow: Subflow) -> int:
        """The slow start threshold after a loss."""
        return max(subflow.cwnd >> 1, 2)

    def _join(self, path: int, mptcp: bool, mss: int, cwnd: int, first: int) -> None:
        self.paths.pop(path, None)
        first = wrap(first, 32)
        self.paths[path] = Subflow(mptcp, mss, cwnd, first, first)
        self.init(self.paths[path])

    def _ack(self, subflow: Subflow, size: int, segments: int, limited: int) -> None:
        subflow.limited = bool(limited)
        subflow.una = wrap(subflow.una + size, 32)
        if 0 < wrap(subflow.una - subflow.nxt, 32) < 1 << 31:
            subflow.nxt = subflow.una
        self.grow(subflow, segments)

    def _lose(self, subflow: Subflow) -> None:
        subflow.prior, subflow.count, subflow.ssthresh = (
            subflow.cwnd,
            0,
            min(self.ssthresh_after_loss(subflow), INFINITE_SSTHRESH),
        )

    def _change(self, subflow: Subflow, name: str, value: int) -> None:
        if name == "ca-state":
            self.state_changes(subflow, value)
            subflow.ca_state = value
        elif name == "send":
            subflow.nxt = wrap(subflow.nxt + value, 32)
        elif name == "settle":
            subflow.cwnd = subflow.ssthresh if subflow.ssthresh < INFINITE_SSTHRESH else subflow.cwnd
        elif name == "undo":
            subflow.cwnd = max(subflow.cwnd, subflow.prior)
        else:
            attribute = {"sk-state": "sk_state", "rtt": "srtt"}.get(name, name)
            assert hasattr(subflow, attribute), name
            setattr(subflow, attribute, value)

    def step(self, event: Event) -> Window:
        """Let one thing happen, as `Driver.step()`."""
        name, path, values = event.name, event.path, event.arguments
        if name in ("join", "join-tcp"):
            self._join(path, name == "join", *values)
        elif name == "leave":
            self.paths.pop(path, None)
        subflow = self.paths.get(path)
        if subflow is None:
            return Window(0, 0)
        calls: dict[str, Callable[..., None]]
        calls = {"ack": self._ack, "sample": self.sample_rtt, "event": self.handle_event, "ssthresh": self._lose}
        if name in calls:
            calls[name](subflow, *values)
        elif name not in ("join", "join-tcp"):
            self._change(subflow, name, values[0] if values else 0)
        return Window(subflow.cwnd, subflow.ssthresh)


class Lia(Connection):
    """An increase that belongs to the connection, in 1/4096."""

    def __init__(self) -> None:
        super().__init__()
        self.alpha, self.stale = 1, False

    def init(self, subflow: Subflow) -> None:
        if subflow.mptcp:
            self.alpha, self.stale = 1, False

    def _renew(self) -> None:
        self.alpha, largest, best = 1, 0, None
        for each in self.counted_subflows():
            gain = (each.cwnd << 32) // each.srtt**2
            if gain >= largest:
                largest, best = gain, each
        if best is None:
            return
        total = sum(wrap((each.cwnd << 10) * best.srtt, 64) // each.srtt for each in self.counted_subflows())
        square = wrap(wrap(total, 64) ** 2, 64)
        self.alpha = max(1, (best.cwnd << 32) // square) if square else 1

    def grow(self, subflow: Subflow, segments: int) -> None:
        if not subflow.mptcp:
            subflow.grow_as_reno(segments)
        elif subflow.limited and subflow.slow_start:
            subflow.grow_slowly(segments)
            self._renew()
        elif subflow.limited:
            if self.stale:
                self._renew()
                self.stale = False
            if subflow.count_ack(max(4096 // (wrap(self.alpha, 32) or 1), subflow.cwnd)):
                self._renew()

    def state_changes(self, subflow: Subflow, state: int) -> None:
        """Even if it is the same state again."""
        del state
        self.stale = self.stale or subflow.mptcp

    def handle_event(self, subflow: Subflow, event: int) -> None:
        if event == EVENT_LOSS and subflow.mptcp:
            self._renew()


class Olia(Connection):
    """Credit in 1/1024 segment, of which what exceeds a segment is lost."""

    def init(self, subflow: Subflow) -> None:
        subflow.kept = {
            "older": subflow.una,
            "loss": subflow.una,
            "acked": subflow.una,
            "sign": 0,
            "den": 1,
            "credit": 0,
        }

    @staticmethod
    def _window(subflow: Subflow) -> int:
        return subflow.ssthresh if subflow.ca_state == RECOVERY else subflow.cwnd

    @staticmethod
    def _gap(subflow: Subflow) -> int:
        older, loss, acked = (subflow.kept[name] for name in ("older", "loss", "acked"))
        return max(wrap(acked - loss, 32), wrap(loss - older, 32))

    def _shift(self) -> None:
        counted = self.counted_subflows()
        gap, square = 0, 1
        for each in counted:
            if wrap(self._gap(each) * square, 64) >= wrap(gap * each.srtt**2, 64):
                gap, square = self._gap(each), each.srtt**2
        best = [wrap(self._gap(each) * square, 64) == wrap(gap * each.srtt**2, 64) for each in counted]
        largest = max((self._window(each) for each in counted), default=0)
        demoted = [self._window(each) == largest for each in counted]
        promoted = [good and not large for good, large in zip(best, demoted, strict=True)]
        for i, each in enumerate(counted):
            members = promoted if promoted[i] else demoted
            moved = any(promoted) and members[i]
            each.kept["sign"] = (1 if promoted[i] else -1) if moved else 0
            each.kept["den"] = len(counted) * sum(members) if moved else 1

    def _step(self, subflow: Subflow) -> int:
        self._shift()
        sign, den = subflow.kept["sign"], subflow.kept["den"]
        rate = 1 + sum(
            wrap((self._window(each) << 10) * subflow.srtt, 64) // each.srtt for each in self.counted_subflows()
        )
        rate = wrap(wrap(rate, 64) ** 2, 64)
        linked = wrap(den * (subflow.cwnd << 10) ** 2, 64)
        unit = wrap(wrap(den * subflow.cwnd, 32) * rate, 64) or 1
        if sign >= 0:
            return wrap((sign * rate + linked) << 10, 64) // unit
        size = wrap(abs(linked - rate) << 10, 64) // unit
        return -size if linked < rate else size

    def grow(self, subflow: Subflow, segments: int) -> None:
        if not subflow.mptcp:
            subflow.grow_as_reno(segments)
            return
        subflow.kept["acked"] = subflow.una
        if subflow.limited and subflow.slow_start:
            subflow.grow_slowly(segments)
        elif subflow.limited:
            credit = to_signed(subflow.kept["credit"] + self._step(subflow))
            if credit >= 1023:
                subflow.cwnd += subflow.cwnd < subflow.clamp
            elif credit <= -1023:
                subflow.cwnd = max(1, subflow.cwnd - 1)
            subflow.kept["credit"] = 0 if abs(credit) >= 1023 else credit

    def state_changes(self, subflow: Subflow, state: int) -> None:
        kept = subflow.kept
        if state in (CWR, RECOVERY, LOSS) and kept["acked"] != kept["loss"] and not subflow.retransmits:
            kept["older"], kept["loss"] = kept["loss"], kept["acked"]


class Balia(Connection):
    """Increase and decrease of each subflow, from when they were computed."""

    def init(self, subflow: Subflow) -> None:
        subflow.kept = {"acks": 0, "decrease": 0}

    def _renew(self, subflow: Subflow) -> None:
        if not subflow.mptcp:
            return
        rates = [subflow.mss * each.cwnd * 8_000_000 // each.srtt for each in self.counted_subflows()]
        mine = sum(rate for rate, each in zip(rates, self.counted_subflows(), strict=True) if each is subflow)
        if not mine:
            subflow.kept = {"acks": subflow.cwnd, "decrease": subflow.cwnd >> 1}
            return
        ratio = max(rates) // mine
        shift = 0
        while max(rates) >> shift > 1 << 25:
            shift += 5
        x, best, total = mine >> shift, max(rates) >> shift, sum(rate >> shift for rate in rates)
        acks = wrap(wrap(total**2, 64) * 10, 64) // (x + best)
        acks = wrap(acks * subflow.cwnd, 64) // (4 * x + best)
        half = subflow.cwnd >> 1
        subflow.kept = {"acks": acks or subflow.cwnd, "decrease": half if ratio == 1 else half * 3 // 2}

    def grow(self, subflow: Subflow, segments: int) -> None:
        if not subflow.mptcp:
            subflow.grow_as_reno(segments)
        elif subflow.limited and subflow.slow_start:
            subflow.grow_slowly(segments)
            self._renew(subflow)
        elif subflow.limited and subflow.count_ack(subflow.kept["acks"]):
            self._renew(subflow)

    def handle_event(self, subflow: Subflow, event: int) -> None:
        if event in (COMPLETE_CWR, EVENT_LOSS):
            self._renew(subflow)

    def ssthresh_after_loss(self, subflow: Subflow) -> int:
        if not subflow.mptcp:
            return super().ssthresh_after_loss(subflow)
        return max(1, wrap(subflow.cwnd - subflow.kept["decrease"], 32))


class Wvegas(Connection):
    """Rounds, in whole packets and microseconds."""

    def init(self, subflow: Subflow) -> None:
        subflow.kept["base"] = 0x7FFFFFFF
        self._begin(subflow)

    @staticmethod
    def _begin(subflow: Subflow) -> None:
        subflow.kept |= {"measuring": 1, "end": subflow.nxt, "samples": 0, "sum": 0}
        subflow.kept |= {"rate": 0, "alpha": 2, "weight": 1 << 16, "queue": 0}

    def state_changes(self, subflow: Subflow, state: int) -> None:
        if state == OPEN:
            self._begin(subflow)
        else:
            subflow.kept["measuring"] = 0

    def handle_event(self, subflow: Subflow, event: int) -> None:
        if event == CWND_RESTART:
            self.init(subflow)
        elif event == EVENT_LOSS:
            subflow.kept["rate"] = 0

    def sample_rtt(self, subflow: Subflow, rtt_us: int) -> None:
        if rtt_us >= 0:
            kept = subflow.kept
            kept["base"] = min(kept["base"], rtt_us + 1)
            kept["sum"] = wrap(kept["sum"] + rtt_us + 1, 32)
            kept["samples"] = wrap(kept["samples"] + 1, 16)

    def _renew_alpha(self, subflow: Subflow, rtt: int) -> None:
        subflow.kept["rate"] = (subflow.cwnd << 16) // rtt
        sending = [each for each in self.paths.values() if each.mptcp and each.can_send and each.kept["sum"]]
        total = sum(each.kept["rate"] for each in sending)
        if subflow.mptcp and total and subflow.kept["rate"]:
            subflow.kept["weight"] = (subflow.kept["rate"] << 16) // total
        subflow.kept["alpha"] = max(2, wrap(subflow.kept["weight"] * 10 >> 16, 32))

    def _avoid(self, subflow: Subflow, rtt: int, diff: int) -> None:
        kept, divided = subflow.kept, subflow.cwnd
        queue = wrap(rtt - kept["base"], 32)
        if diff >= kept["alpha"]:
            self._renew_alpha(subflow, rtt)
        if diff > kept["alpha"]:
            divided = wrap(subflow.cwnd - 1, 32)
            subflow.ssthresh = min(subflow.ssthresh, divided)
        elif diff < kept["alpha"]:
            divided = subflow.cwnd + 1
        if not kept["queue"] or queue < kept["queue"]:
            kept["queue"] = queue
        if queue >= wrap(2 * kept["queue"], 32):
            kept["queue"] = 0
            divided = divided * wrap((kept["base"] << 16) // (2 * rtt), 32) >> 16
        subflow.cwnd = wrap(divided, 32)

    def _end_round(self, subflow: Subflow, segments: int) -> None:
        rtt = subflow.kept["sum"] // subflow.kept["samples"] or 1
        queue = wrap(rtt - subflow.kept["base"], 32)
        diff = wrap(subflow.cwnd * queue // rtt, 32)
        if subflow.slow_start and diff > 1:
            subflow.cwnd = min(subflow.cwnd, wrap(subflow.cwnd * subflow.kept["base"] // rtt + 1, 32))
            subflow.ssthresh = min(subflow.ssthresh, subflow.cwnd)
        elif subflow.slow_start:
            subflow.grow_slowly(segments)
        else:
            self._avoid(subflow, rtt, diff)
        subflow.cwnd = 2 if subflow.cwnd < 2 else min(subflow.cwnd, subflow.clamp)
        if subflow.ca_state not in (CWR, RECOVERY):
            subflow.ssthresh = max(subflow.ssthresh, subflow.cwnd // 2 + subflow.cwnd // 4)

    def grow(self, subflow: Subflow, segments: int) -> None:
        kept = subflow.kept
        if not kept["measuring"]:
            subflow.grow_as_reno(segments)
        elif 0 < wrap(subflow.una - kept["end"], 32) < 1 << 31:
            if kept["samples"] <= 2:
                subflow.grow_as_reno(segments)
            else:
                self._end_round(subflow, segments)
            kept |= {"end": subflow.nxt, "samples": 0, "sum": 0}
        elif subflow.slow_start:
            subflow.grow_slowly(segments)


MODELS: dict[str, type[Connection]] = {"lia_v09": Lia, "olia_v09": Olia, "balia_v09": Balia, "wvegas_v09": Wvegas}


def run(control: str, events: Iterable[Event]) -> list[Window]:
    """What a connection's windows are after each event, as `Driver.run()`."""
    connection = MODELS[control]()
    return [connection.step(event) for event in events]
