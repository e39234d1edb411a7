# SPDX-License-Identifier: MIT
"""Estimate a line from what travelled over it: rate, round trip, queue and random loss.

- The **round trip** without load is the shortest that any packet took.
- The **rate** is what arrived per interval while the line was backlogged: every packet of the interval had waited in
  the queue.
- The **queue** is how long packets waited, at most, if losses prove that it was full then: most packets that were lost
  would have met the longest queue, far more than chance explains. Else that time is only a lower bound.
- **Random loss** is the share of packets that were lost although the queue was not nearly full.

What the evidence cannot show becomes a bound, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from mptcplab.explain.evidence import address_of
from mptcplab.fit.packets import PathTrace
from mptcplab.fit.signs import signs_in_packets
from mptcplab.lazy import np
from mptcplab.stats.intervals import median_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mptcplab.explain.evidence import Subflow


# An estimated value: its interval, how it was found, by how many samples, and whether it is only a bound.

#: *measured*: with an interval. *bound*: the evidence only shows that it is at least this (at most, if ``is_upper``).
#: *stated*: somebody typed it. *assumed*: nobody knows; the method says why this value.
Kind = Literal["measured", "bound", "stated", "assumed"]


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A value in its unit (bit/s, s, bytes, or a probability). ``low`` and ``high`` are a 95 % interval, if known."""

    value: float
    kind: Kind
    method: str
    low: float | None = None
    high: float | None = None
    samples: int = 0
    is_upper: bool = False

    @property
    def is_known(self) -> bool:
        """True if the value itself is known."""
        return self.kind in ("measured", "stated")

    def to_json(self) -> dict[str, object]:
        """Return the value, its interval and how it was found, in its unit."""
        return {
            "value": float(self.value),
            "kind": self.kind,
            "low": None if self.low is None else float(self.low),
            "high": None if self.high is None else float(self.high),
            "samples": self.samples,
            "method": self.method,
        }

    def origin(self, format_value: Callable[[float], str]) -> str:
        """Return where the value comes from, with its interval, as a comment says it."""
        if self.kind == "stated":
            return f"stated: {self.method}"
        if self.kind == "assumed":
            return f"assumed: {self.method}"
        counted = f" ({self.samples} {'sample' if self.samples == 1 else 'samples'})" if self.samples else ""
        if self.kind == "bound":
            word = "upper" if self.is_upper else "lower"
            return f"not identifiable: {word} bound {format_value(self.value)}; {self.method}{counted}"
        interval = ""
        if self.low is not None and self.high is not None:
            interval = f", {format_value(self.low)} to {format_value(self.high)}"
        return f"measured: {self.method}{interval}{counted}"


def format_rate(bps: float) -> str:
    """Return a rate with three to four significant digits, in a unit of the scenario language."""
    for factor, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if bps >= factor:
            return f"{float(f'{bps / factor:.4g}'):g} {unit}"
    return f"{round(bps)} bit/s"


def format_time(seconds: float) -> str:
    """Return a time in milliseconds, or microseconds if it is shorter than one, as the scenario language writes it."""
    if seconds >= 0.001:
        return f"{float(f'{seconds * 1000:.4g}'):g} ms"
    return f"{round(seconds * 1e6)} us"


def format_share(share: float) -> str:
    """Return a probability in percent with two significant digits."""
    return f"{float(f'{share * 100:.2g}'):g} %"


if TYPE_CHECKING:
    Floats = NDArray[np.float64]

FRAME = 1514
#: Shortest wait that shows a backlog, and the frames that are at least in the queue then.
_BACKLOG_S, _BACKLOG_FRAMES = 0.001, 0.5
#: An interval of the rate: at least this many deliveries, and this time.
_MIN_DELIVERIES, _INTERVAL_S = 16, 0.05
_MIN_INTERVALS = 5
#: Losses that prove a full queue: at least this many, and less probable by chance than this.
_MIN_LOSSES, _CHANCE = 3, 1e-4
#: The queue counts as full from this share of the longest wait on, and as not nearly full below the other.
_FULL, _NOT_NEARLY = 0.9, 0.6
#: The longest wait is the median of this share of all, within these numbers, so that a few odd packets do not decide.
_LONGEST_SHARE, _LONGEST_RANGE = 0.01, (5, 100)
_CONFIDENCE = 0.95


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line in the direction of the payload, by the addresses of its sender and receiver.

    ``rate`` in bit/s, ``rtt`` without load and ``queue`` (the longest wait) in s, ``loss`` as a probability.
    ``signs`` say what is on the way that a line does not have (:mod:`mptcplab.fit.signs`).
    ``back_rate`` is the rate of the other direction, None if nothing is known about it. ``loaded_s`` is the median
    round trip under load, None if unknown.
    """

    name: str
    sender: str
    receiver: str
    rate: Estimate
    rtt: Estimate
    queue: Estimate
    loss: Estimate
    back_rate: Estimate | None = None
    loaded_s: float | None = None
    sender_opens: bool = True
    signs: tuple[str, ...] = ()

    @property
    def queue_bytes(self) -> float:
        """The queue in bytes."""
        return self.queue.value * self.rate.value / 8

    @property
    def queue_packets(self) -> float:
        """The queue in full frames."""
        return self.queue_bytes / FRAME

    def to_json(self) -> dict[str, object]:
        """Return the ends and the estimates, with the units in their names."""
        estimates = {"rate_bps": self.rate, "rtt_s": self.rtt, "queue_s": self.queue, "loss": self.loss}
        ends = {"name": self.name, "sender": self.sender, "receiver": self.receiver}
        return ends | {name: estimate.to_json() for name, estimate in estimates.items()}


def estimate_line(trace: PathTrace, name: str) -> Line:
    """Return the line that a path's packets travelled over."""
    delays = _Delays.from_trace(trace)
    rtt = _round_trip(trace, delays)
    rate = _rate(delays)
    queue, loss = _queue_and_loss(trace, delays, rate)
    loaded = None
    if delays.waits.size:
        loaded = float(np.median(delays.waits)) + rtt.value
    return Line(
        name=name,
        sender=trace.sender,
        receiver=trace.receiver,
        rate=rate,
        rtt=rtt,
        queue=queue,
        loss=loss,
        loaded_s=loaded,
        sender_opens=trace.opened_by_sender is not False,
        signs=tuple(_signs(trace, delays, queue, name)),
    )


def _signs(trace: PathTrace, delays: _Delays, queue: Estimate, name: str) -> list[str]:
    """Return the signs of queues that are not the twin's, in the packets that met a queue far from full."""
    if delays.waits.size < _MIN_DELIVERIES:
        return []
    below = _NOT_NEARLY * queue.value
    orders, waits = _waits_at_losses(trace, delays, queue.value)
    return signs_in_packets(trace, name, delays.orders[delays.bounds < below], orders[waits < below])


@dataclass(frozen=True)
class _Delays:
    """The deliveries of a path as arrays.

    ``waits`` in the queue are of deliveries whose delay is known. ``orders``, ``sent`` and ``bounds`` are, in the
    order of sending, of all that were sent once: their waits, or an upper bound where an acknowledgement was held back.
    ``delivered``, ``bytes`` and ``waits_around`` (interpolated) are of all, in the order of arrival.
    """

    base: float
    waits: Floats
    orders: Floats
    sent: Floats
    bounds: Floats
    delivered: Floats
    bytes: Floats
    waits_around: Floats

    @classmethod
    def from_trace(cls, trace: PathTrace) -> _Delays:
        once = sorted((entry for entry in trace.deliveries if not entry.is_repeated), key=lambda entry: entry.order)
        raw = np.array([entry.delivered_s - entry.sent_s for entry in once])
        is_timed = np.array([entry.is_timed for entry in once], dtype=bool)
        if not trace.at_sender and once:
            raw = _without_offsets(raw, np.array([entry.flow for entry in once]))
        base = float(raw[is_timed].min()) if is_timed.any() else 0.0
        if trace.at_sender and trace.handshakes_s:
            base = min(base, min(trace.handshakes_s))
        bounds = np.maximum(raw - base, 0.0)
        waits = bounds[is_timed]
        by_arrival = sorted(trace.deliveries, key=lambda entry: entry.delivered_s)
        delivered = np.array([entry.delivered_s for entry in by_arrival])
        times = np.array([entry.delivered_s for entry in once])[is_timed] if once else np.array([])
        order = np.argsort(times, kind="stable")
        return cls(
            base=base,
            waits=waits,
            orders=np.array([entry.order for entry in once], dtype=float),
            sent=np.array([entry.sent_s for entry in once]),
            bounds=bounds,
            delivered=delivered,
            bytes=np.array([entry.frame for entry in by_arrival], dtype=float),
            waits_around=np.interp(delivered, times[order], waits[order]) if waits.size else np.zeros_like(delivered),
        )


def _without_offsets(delays: Floats, flows: NDArray[np.int64]) -> Floats:
    """Return delays less the shortest of their flow: the time stamps of each connection have an offset of their own."""
    shortest = {flow: delays[flows == flow].min() for flow in np.unique(flows)}
    result: Floats = delays - np.array([shortest[flow] for flow in flows])
    return result


def _round_trip(trace: PathTrace, delays: _Delays) -> Estimate:
    samples = list(trace.handshakes_s)
    if trace.at_sender and delays.waits.size:
        samples += list(delays.waits + delays.base)
    if not samples:
        return Estimate(
            value=0.02, kind="assumed", method="no handshake was captured, and none of its data at the sender"
        )
    samples = sorted(map(float, samples))
    near = samples[min(len(samples) - 1, max(1, len(samples) // 100))]
    return Estimate(
        value=samples[0],
        kind="measured",
        method="shortest round trip",
        low=samples[0],
        high=near,
        samples=len(samples),
    )


def _rate(delays: _Delays) -> Estimate:
    """Return the rate of intervals in which the line was backlogged throughout."""
    rates, least_waits = _interval_rates(delays)
    if not rates.size:
        total = float(delays.bytes.sum()) * 8
        span = float(delays.delivered[-1] - delays.delivered[0]) if delays.delivered.size > 1 else 0.0
        value = total / span if span > 0 else 1e6
        return Estimate(
            value=max(value, 1e3), kind="bound", method="too few packets arrived for a rate", samples=delays.bytes.size
        )
    rough = float(np.quantile(rates, 0.9))
    backlog = max(_BACKLOG_S, _BACKLOG_FRAMES * FRAME * 8 / rough)
    loaded = rates[least_waits > backlog]
    if loaded.size >= _MIN_INTERVALS:
        interval = median_interval([float(rate) for rate in loaded])
        return Estimate(
            value=interval.value,
            kind="measured",
            method="median of what arrived per interval while the line was backlogged",
            low=interval.low,
            high=interval.high,
            samples=int(loaded.size),
        )
    return Estimate(
        value=float(rates.max()),
        kind="bound",
        method="the highest rate of an interval; the line was never backlogged for long",
        samples=int(rates.size),
    )


def _interval_rates(delays: _Delays) -> tuple[Floats, Floats]:
    """Return the rate of each interval between deliveries, and the shortest wait of a packet in it."""
    rates, waits = [], []
    begin = 0
    times, totals = delays.delivered, np.cumsum(delays.bytes)
    while begin + _MIN_DELIVERIES < times.size:
        end = max(begin + _MIN_DELIVERIES, int(np.searchsorted(times, times[begin] + _INTERVAL_S)))
        if end >= times.size:
            break
        # Deliveries that one acknowledgement reports are not split.
        end = int(np.searchsorted(times, times[end], side="right")) - 1
        span = times[end] - times[begin]
        if span > 0:
            rates.append(8 * (totals[end] - totals[begin]) / span)
            waits.append(delays.waits_around[begin : end + 1].min())
        begin = end if end > begin else begin + 1
    return np.array(rates), np.array(waits)


def _queue_and_loss(trace: PathTrace, delays: _Delays, rate: Estimate) -> tuple[Estimate, Estimate]:
    if delays.waits.size < _MIN_DELIVERIES:
        none = Estimate(value=0.1, kind="assumed", method="the default; no delays of packets are known")
        return none, _share_lost(len(trace.losses), trace.sent, is_bound=True)
    waits = np.sort(delays.waits)
    fewest, most = _LONGEST_RANGE
    top = waits[-min(max(round(_LONGEST_SHARE * waits.size), fewest), most) :]
    longest = float(np.median(top))
    frame_s = FRAME * 8 / rate.value
    full_from = min(_FULL * longest, longest - 2 * frame_s)
    _, lost = _waits_at_losses(trace, delays, longest)
    in_full = int((lost >= full_from).sum())
    share_full = max(float((delays.bounds >= full_from).mean()), 1.0 / delays.bounds.size)
    if _is_full(in_full, lost.size, share_full):
        # A queue whose longest wait is this has room for up to one frame more, in which no whole frame fitted.
        queue = Estimate(
            value=longest + frame_s / 2,
            kind="measured",
            method=f"longest wait, and half a frame; {in_full} of {lost.size} losses at a full queue",
            low=float(top[0]),
            high=float(top[-1]) + frame_s,
            samples=in_full,
        )
        below = _NOT_NEARLY * longest
        counted = int((lost < below).sum())
        sent_below = round(trace.sent * float((delays.bounds < below).mean()))
        return queue, _share_lost(counted, sent_below, is_bound=False)
    reason = "no loss shows that the queue was ever full" if not lost.size else "losses do not depend on the queue"
    queue = Estimate(value=longest, kind="bound", method=f"longest wait; {reason}", samples=int(delays.waits.size))
    return queue, _share_lost(lost.size, trace.sent, is_bound=False)


def _waits_at_losses(trace: PathTrace, delays: _Delays, longest: float) -> tuple[Floats, Floats]:
    """Return the places of lost packets, and how long each would have waited, as its neighbours show.

    The wait is as long as the one before it, less the time since then, or as long as the one after it if that left
    soon, for packets in between whose delay is unknown fill the queue, too.
    """
    orders = np.array([loss.order for loss in trace.losses], dtype=float)
    sent = np.array([loss.sent_s for loss in trace.losses])
    after = np.searchsorted(delays.orders, orders)
    is_known = after > 0
    orders, sent, after = orders[is_known], sent[is_known], after[is_known]
    before = after - 1
    after = np.minimum(after, delays.orders.size - 1)
    bounds = np.minimum(delays.bounds, longest)
    if not trace.at_sender:
        # The receiver does not know when a lost packet was sent: its neighbours' waits stand.
        neighbours: Floats = np.maximum(bounds[before], bounds[after])
        return orders, neighbours
    drained = np.maximum(bounds[before] - np.maximum(sent - delays.sent[before], 0.0), 0.0)
    is_near = np.abs(delays.sent[after] - sent) <= longest
    waits: Floats = np.maximum(drained, np.where(is_near, bounds[after], 0.0))
    return orders, waits


def _is_full(in_full: int, lost: int, share_full: float) -> bool:
    """Return whether losses gather at the longest waits: by chance, their share there would be the packets' share."""
    from scipy import stats

    if in_full < _MIN_LOSSES or share_full >= 1:
        return False
    return bool(stats.binom.sf(in_full - 1, lost, share_full) < _CHANCE)


def _share_lost(lost: int, sent: int, *, is_bound: bool) -> Estimate:
    """Return a share with its exact interval (Clopper and Pearson)."""
    # The quantile of the beta distribution. scipy.stats gives the same, in ten times the time.
    from scipy.special import betaincinv

    if sent <= 0:
        return Estimate(value=0.0, kind="assumed", method="nothing was sent over an empty line")
    lost = min(lost, sent)
    tail = (1 - _CONFIDENCE) / 2
    low = float(betaincinv(lost, sent - lost + 1, tail)) if lost else 0.0
    high = float(betaincinv(lost + 1, sent - lost, 1 - tail)) if lost < sent else 1.0
    method = f"{lost} of {sent} packets lost while the queue was not full"
    if is_bound:
        return Estimate(value=lost / sent, kind="bound", method=f"{lost} of {sent} packets lost", is_upper=True)
    return Estimate(value=lost / sent, kind="measured", method=method, low=low, high=high, samples=sent)


def round_trips_in(trace: PathTrace, begin_s: float, end_s: float) -> float | None:
    """Return the median round trip of the packets that were sent in an interval; None if none is known."""
    if not trace.at_sender:
        return None
    delays = [
        delivery.delivered_s - delivery.sent_s
        for delivery in trace.deliveries
        if delivery.is_timed and begin_s <= delivery.sent_s <= end_s
    ]
    return float(np.median(delays)) if delays else None


def estimate_from_samples(subflows: Sequence[Subflow], name: str) -> Line:
    """Return a line as samples of its sockets (``ss``) show it: all ``subflows`` have the same two addresses.

    Samples have a smoothed round trip and totals of bytes. They can show a rate, while the round trip was far above its
    minimum, but never the instant of a loss.

    :raises ValueError: if no sample has a round trip.
    """
    samples = [sample for subflow in subflows for sample in subflow.samples]
    minima = [sample.min_rtt_s for sample in samples if sample.min_rtt_s]
    smoothed = [sample.rtt_s for sample in samples if sample.rtt_s]
    if not minima and not smoothed:
        raise ValueError("no sample has a round trip")
    base = min(minima or smoothed)
    wait = max(smoothed, default=base) - base
    # Not a bound: the receiver may have delayed its acknowledgements by 40 ms and more.
    method = (
        f"not identifiable; the smoothed round trip rose by {format_time(wait)}, be it by the queue or by delayed ACKs"
    )
    first = subflows[0]
    return Line(
        name=name,
        sender=address_of(first.local),
        receiver=address_of(first.remote),
        rate=_rate_of_samples(subflows, base),
        rtt=Estimate(
            value=base,
            kind="measured",
            method="lowest minrtt of ss",
            low=base,
            high=min(smoothed, default=base),
            samples=len(samples),
        ),
        queue=Estimate(value=max(wait, 0.001), kind="assumed", method=method, samples=len(smoothed)),
        loss=_loss_of_samples(subflows),
        loaded_s=float(np.median(smoothed)) if smoothed else None,
    )


def _rate_of_samples(subflows: Sequence[Subflow], base_s: float) -> Estimate:
    """Return the rate of a line whose round trip is ``base_s`` without queues."""
    rates = _sampled_rates(subflows, base_s)
    if len(rates) >= 3:
        interval = median_interval(rates)
        return Estimate(
            value=interval.value,
            kind="measured",
            method="median of what was acknowledged between looks while the round trip was raised",
            low=interval.low,
            high=interval.high,
            samples=len(rates),
        )
    totals = [value for _, value in _totals(subflows)]
    delivery_rates = (sample.delivery_bps or 0.0 for subflow in subflows for sample in subflow.samples)
    return Estimate(
        value=max(max(totals, default=0.0) or max(delivery_rates, default=0.0), 1e3),
        kind="bound",
        method="the highest rate; the line was not seen backlogged",
        samples=len(totals),
    )


def _loss_of_samples(subflows: Sequence[Subflow]) -> Estimate:
    sent = sum(int(subflow.last("bytes_sent") or 0) for subflow in subflows)
    again = sum(int(subflow.last("bytes_retrans") or 0) for subflow in subflows)
    return Estimate(
        value=again / sent if sent else 0.0,
        kind="bound",
        method="share retransmitted: samples cannot distinguish random loss from a full queue",
        is_upper=True,
        samples=sum(len(subflow.samples) for subflow in subflows),
    )


def _totals(subflows: Sequence[Subflow]) -> list[tuple[float, float]]:
    """Return, for each pair of looks, the lowest raise of the round trip in s, and the rate of frames in bit/s."""
    looks: dict[tuple[float, float], list[tuple[float, float]]] = {}
    for subflow in subflows:
        for earlier, later in zip(subflow.samples, subflow.samples[1:], strict=False):
            if later.time_s <= earlier.time_s or later.bytes_acked is None or earlier.bytes_acked is None:
                continue
            payload = later.bytes_acked - earlier.bytes_acked
            mss = later.mss or 1448
            bps = 8 * payload * (mss + 66) / mss / (later.time_s - earlier.time_s)
            raised = min(sample.rtt_s or 0.0 for sample in (earlier, later))
            if payload > 0:
                looks.setdefault((earlier.time_s, later.time_s), []).append((raised, bps))
    return [(max(raised for raised, _ in members), sum(bps for _, bps in members)) for members in looks.values()]


def _sampled_rates(subflows: Sequence[Subflow], base: float) -> list[float]:
    return [bps for raised, bps in _totals(subflows) if raised > max(1.2 * base, base + 0.005)]
