# SPDX-License-Identifier: MIT
"""Warnings about a run: what may invalidate its results, or explain them, with similar warnings merged."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from mptcplab.explain.catalog.low_sum import (
    EMPTY_QUEUE,
    FULL_WINDOW,
    LATE_S,
    MIN_SAMPLES,
    MOST_SAMPLES,
    ROOM_IN_CWND,
    SMALL_WINDOW,
)
from mptcplab.lazy import np, pl
from mptcplab.metrics.capacity import rate_of
from mptcplab.metrics.catalog.outages import (
    FailureInterval,
    choose_outage_window_s,
    compute_outage_s,
    list_outages,
    longest_outage,
    measure_failure_intervals,
    read_usable_curve,
)
from mptcplab.metrics.column import Subject
from mptcplab.metrics.connections import FailureGroup, group_failures, seconds_text
from mptcplab.metrics.delivery import BEFORE_S, RECOVERED_SHARE, Delivery, compute_gap_s
from mptcplab.metrics.instants import read_instants
from mptcplab.metrics.manifest import read_paths
from mptcplab.metrics.subflows import FILE as COUNTERS
from mptcplab.metrics.subflows import Ends, read_counters
from mptcplab.recording.record import Recording
from mptcplab.steps import down_since
from mptcplab.workload.outputs import Failures

# Merge warnings that differ only in their numbers, as they do over seeds and points.

_PLAIN = r"\d+(?:\.\d+)?"
#: A number that is a word, not part of a name, or a range of two.
_NUMBER = re.compile(rf"(?<![\w.-])({_PLAIN})(?: to ({_PLAIN}))?(?![\w-]|\.\d)")


def merge_similar_warnings(warnings: Iterable[str]) -> dict[str, str]:
    """Return for each warning the text that it shares with warnings that differ from it only in numbers.

    Numbers that differ become ranges: "dropped 14" and "dropped 2" are "dropped 2 to 14". The order follows the
    warnings. A range is a number as well, so texts of this function can be merged again.
    """
    alike: dict[str, list[str]] = {}
    for warning in dict.fromkeys(warnings):
        alike.setdefault(_NUMBER.sub("#", warning), []).append(warning)
    return {warning: text for texts in alike.values() for text in [_span_numbers(texts)] for warning in texts}


def _span_numbers(texts: list[str]) -> str:
    """Return the first text, with the range over all texts in the place of each number."""
    if len(texts) == 1:
        return texts[0]
    ranges = zip(*(_NUMBER.findall(text) for text in texts), strict=True)
    words: Iterator[str] = iter([_range([number for pair in pairs for number in pair if number]) for pairs in ranges])
    return _NUMBER.sub(lambda _: next(words), texts[0])


def _range(numbers: list[str]) -> str:
    low, high = min(numbers, key=float), max(numbers, key=float)
    return low if float(low) == float(high) else f"{low} to {high}"


# Errors that the kernel's own checks reported in a run, which may invalidate its results.

_LOG = "kernel.txt"
_SIGN = re.compile(r"\b(WARNING|BUG|UBSAN|KASAN|ODEBUG|Oops|INFO(?=: (possible|trying|suspicious))): ?(.*)")
_MAX_LENGTH = 160
_SHOWN = 3


def complaints_in(log: str) -> list[str]:
    """Return the first lines of the distinct errors in a kernel's log, in order."""
    return list(dict.fromkeys(f"{sign[1]}: {sign[3]}"[:_MAX_LENGTH].strip() for sign in _SIGN.finditer(log)))


def kernel_complaints(recording: Recording) -> Iterator[str]:
    """Yield a warning for each of the first few distinct errors."""
    file = recording.folder / _LOG
    if not file.exists():
        return
    complaints = complaints_in(file.read_text(errors="replace"))
    for complaint in complaints[:_SHOWN]:
        yield f"the kernel reported an error, so the results may be wrong: {complaint} (see {_LOG} of the recording)"
    if len(complaints) > _SHOWN:
        yield f"the kernel reported {len(complaints) - _SHOWN} other errors (see {_LOG} of the recording)"


# Effects of the machine on a run: all hosts of a lab share one kernel, its memory for sockets and its only CPU.

MACHINE_FILE = "machine.json"
#: Counters of ``nstat`` that grow only when the whole machine is short of memory for sockets, which separate hosts
#: would not share. A full receive buffer is different: its limit belongs to one socket, is set by the scenario or by
#: autotuning, and has the same effect on a separate machine. So PruneCalled, RcvPruned, OfoPruned, TCPRcvCollapsed,
#: TCPRcvQDrop and TCPBacklogDrop are not included.
PRESSURE = (
    # tcp_enter_memory_pressure(): more than tcp_mem[1] is in use, or a segment cannot be allocated.
    "TcpExtTCPMemoryPressures",
    # tcp_check_oom(): more than tcp_mem[2], or more orphans than tcp_max_orphans, which follows the memory's size.
    "TcpExtTCPAbortOnMemory",
    # __sk_mem_raise_allocated() refuses: more than udp_mem[2].
    "UdpMemErrors",
    "Udp6MemErrors",
    # sk_filter_trim_cap(): a packet that came out of the kernel's last reserves.
    "TcpExtPFMemallocDrop",
)
#: How the warning begins that a run's hosts were short of memory.
SHORT_OF_MEMORY = "the hosts share one machine, which was short of memory for sockets"


@dataclass(frozen=True)
class Machine:
    """The limits that all hosts of a run share, see :mod:`mptcplab.guest.machine`; None in older recordings."""

    tcp_pages_peak: int | None
    tcp_mem_pages: Sequence[int] | None
    softirq_rounds_delayed: int | None


def read_machine(recording: Recording) -> Machine:
    """Return the state of the machine at the end of a run."""
    state = recording.machine
    return Machine(state.get("tcp_pages_peak"), state.get("tcp_mem_pages"), state.get("softirq_rounds_delayed"))


def machine_warnings(recording: Recording) -> Iterator[str]:
    """Yield a warning for each effect by which the machine, not the network, may have determined the result."""
    yield from _pressure(recording)
    rounds = read_machine(recording).softirq_rounds_delayed
    if rounds:
        yield (
            f"the kernel delayed {rounds} rounds of softirqs by 1 ms each, because they raised each other endlessly "
            f"(see {MACHINE_FILE} of the recording)"
        )


def _pressure(recording: Recording) -> Iterator[str]:
    counted = pressure_counts(recording)
    if counted:
        total = ", ".join(f"{name} {count}" for name, count in counted.items())
        yield (
            f"{SHORT_OF_MEMORY}: {total}. Separate hosts would not share this limit, so the result is one of the lab's "
            "memory: raise the scenario's key `memory`, or use smaller buffers or fewer flows"
        )
        return
    machine = read_machine(recording)
    peak, limits = machine.tcp_pages_peak, machine.tcp_mem_pages
    # MPTCP's own memory is part of the sum, but only a TCP socket that allocates more checks the limit.
    if peak is not None and limits and peak > limits[1]:
        yield (
            f"the hosts share one machine, and their TCP sockets used {peak} pages of its memory: more than the "
            f"{limits[1]} of tcp_mem, above which TCP saves memory: raise the scenario's key `memory`"
        )


def pressure_counts(recording: Recording) -> dict[str, int]:
    """Return the counters of memory pressure that are not zero, summed over all hosts of the run.

    The kernel counts on the host whose socket noticed first, but the pressure is on all hosts.
    """
    counts: dict[str, int] = {}
    for file in sorted((recording.folder / "counters").glob(f"*/{COUNTERS}")):
        counters = read_counters(recording, file.parent.name)
        for name in PRESSURE:
            if counters.get(name):
                counts[name] = counts.get(name, 0) + counters[name]
    return counts


# Warnings of connections that failed: how many, for which reason, when, and what was down then.


def failure_warnings(recording: Recording, failures: Failures) -> Iterator[str]:
    """Yield a warning for each reason for which connections of a workload failed."""
    for group in group_failures(failures.failed):
        if group.was_established:
            when = "at once" if group.is_at_once else f"{group.span} after the handshake" if group.span else ""
            where = ", as only the server saw" if group.side == "server" else ""
            event = f"failed{f' {when}' if when else ''}: {group.word}{where}"
        else:
            event = f"were not established: {group.text}"
        yield f"{group.count} of {failures.connections} connections {event}{_instant_text(recording, group)}"


def _instant_text(recording: Recording, group: FailureGroup) -> str:
    """Return when the first of a group failed and what was down then; nothing if the instant is not known."""
    if group.first_at_s is None:
        return ""
    down = _links_down_at(recording, group.first_at_s)
    places = f". Down then: {', '.join(down)}" if down else ""
    return f"; the first at {seconds_text(group.first_at_s)} of the run{places}"


def _links_down_at(recording: Recording, time_s: float) -> list[str]:
    """Return the links that were down at ``time_s``, each with the instant of its failure."""
    changes = ((instant.time_s, instant.place, instant.is_failure) for instant in read_instants(recording))
    return [f"{place} since {seconds_text(since_s)}" for place, since_s in down_since(changes, time_s).items()]


# Subflows that joined late and were limited by the window of a new connection, by the rule of
# :mod:`mptcplab.explain.catalog.low_sum`: there for thinned samples, here for all.

_LATE_NS = round(LATE_S * 1e9)
_COLUMNS = {"conn", "program", "snd_wnd", "snd_cwnd", "snd_mss", "unacked", "state", "rtt_us", "min_rtt_us"}


def late_window_warnings(recording: Recording, ends: Ends) -> Iterator[str]:
    """Yield a warning if late subflows of a workload were mostly limited by the window that the receiver offered."""
    samples = recording.subflows
    if ends.sending is None or not set(samples.columns) >= _COLUMNS:
        return
    first, last = samples["time_ns"].min(), samples["time_ns"].max()
    if not (isinstance(first, int) and isinstance(last, int) and last - first >= _LATE_NS):
        return  # Nothing can have joined late. Most short runs end here.
    frame = window_limited_subflows(samples.filter(pl.col("program") == ends.sending))
    # Subflows of many connections may have the same window: a set without order would not do.
    for size in dict.fromkeys(f"{window / 1e3:.3g} kB" for window in frame["window"]):
        yield (
            f"a subflow that joined late was limited by a receive window of {size}: mainline does not enlarge the "
            "buffer of a subflow that joins after the connection's has grown; a larger default in tcp_rmem helps"
        )


def window_limited_subflows(samples: pl.DataFrame) -> pl.DataFrame:
    """Return the late subflows that their windows limited, with the median ``window`` in bytes.

    ``samples`` come from one program, the sender.
    """
    begun = pl.col("time_ns").min()
    offered = pl.col("snd_wnd").max()
    under_way = pl.col("unacked") * pl.col("snd_mss")
    full = under_way >= FULL_WINDOW * pl.col("snd_wnd")
    has_room = pl.col("snd_cwnd") * pl.col("snd_mss") >= ROOM_IN_CWND * pl.col("snd_wnd")
    sending = samples.filter((pl.col("state") == "established") & (pl.col("unacked") > 0))
    is_limited = full & has_room & (pl.col("rtt_us") <= EMPTY_QUEUE * pl.col("min_rtt_us"))
    known = sending.with_columns(first=begun.over("conn"), most=offered.over("conn"), is_limited=is_limited)
    subflows = known.group_by("conn", "local", "remote", maintain_order=True).agg(
        (begun - pl.col("first").first()).alias("later_ns"),
        (pl.col("most").first() / pl.col("snd_wnd").median()).alias("times"),
        pl.col("is_limited").mean().alias("share"),
        pl.len().alias("count"),
        pl.col("snd_wnd").cast(pl.Float64).median().alias("window"),
    )
    return subflows.filter(
        (pl.col("later_ns") >= _LATE_NS)
        & (pl.col("times") >= SMALL_WINDOW)
        & (pl.col("share") >= MOST_SAMPLES)
        & (pl.col("count") >= MIN_SAMPLES)
    )


# Pauses of links that follow a trace: a rate of zero, in which packets wait, is not a tunnel, in which they are lost.
#
# The lab applies zero as the lowest rate (:mod:`mptcplab.network.behaviours.bottleneck`), at which a frame leaves
# every 12 s. TCP takes the time that packets waited for their round-trip time, and its timeout becomes longer than the
# pause.

_NS = 1e9
#: Shorter pauses delay few acknowledgements by more than the timeouts that TCP has after a loss.
_LONG_S = 5.0


def pause_warnings(recording: Recording, ends: Ends, used: Collection[str], *, with_mptcp: bool) -> Iterator[str]:
    """Yield a warning for each link whose trace has a long pause, on the paths that a workload has.

    These are the ``used`` ones of TCP, and all of MPTCP, by their names in the manifest.
    """
    paths = read_paths(recording, ends.workload)
    of_tcp = [] if with_mptcp else [name for name in paths if name in used]
    links = dict.fromkeys(link for name in of_tcp or paths for link, _ in paths[name])
    events = recording.events
    if events.is_empty():
        return
    traces = events.filter(pl.col("kind") == "trace").sort("instant_ns")
    for link in links:
        longest = max((_longest_s(of_side) for of_side in _direction_events(traces, link)), default=0.0)
        if longest > _LONG_S:
            yield (
                f"{link} has a rate of 0 by its trace, for up to {longest:.3g} s: packets wait in it, and TCP takes "
                "that for their round-trip time; an event `down` loses them, as a tunnel does"
            )


def _direction_events(traces: pl.DataFrame, link: str) -> Iterator[list[tuple[int, str]]]:
    of_link = traces.filter(pl.col("link") == link)
    for direction in of_link["direction"].unique(maintain_order=True):
        events = of_link.filter(pl.col("direction") == direction)
        yield list(zip(events["instant_ns"], events["value"], strict=True))


def _longest_s(steps: list[tuple[int, str]]) -> float:
    """Return the longest time in s from a step to a rate of zero until the next step."""
    lengths = (after - at for (at, value), (after, _) in pairwise(steps) if rate_of(value or "") == 0)
    return max(lengths, default=0) / _NS


# Warn of doubtful outages: data kept coming, but the rate to expect is a path's capacity, and it carries less.
#
# A tenth of the capacity is then near what TCP gets there. With losses, that is a matter of the round-trip time and of
# how many there are, and not of the capacity.

#: An outage that is longer than this number of its gaps is not an interruption. An outage with nothing but TCP's
#: retransmissions is one: its gaps double, so that all of them together are shorter than two of the last, and the
#: windows at both ends add less than another.
_GAPS = 3
#: A usual rate below this multiple of the threshold is near it: two losses in a row reduce CUBIC's rate to 0.7 * 0.7 of
#: it, or a half, so that the flow falls below the threshold again and again without any interruption.
_NEAR = 2
#: An outage up to this multiple of the sampling interval may not be real. Closer samples do not mislead.
_SAMPLES, _COARSE_S = 2.1, 0.2
_BITS = 1e6


def outage_warnings(subject: Subject) -> Iterator[str]:
    """Yield a warning for each failure whose outage is rather a low rate, or which messages were late before."""
    yield from _earlier_lateness_warnings(subject)
    yield from _sampling_warnings(subject)
    for curve, interval in subject.compute_once(measure_failure_intervals):
        # Of messages, one in ten in time is silence, however they arrive.
        yield from () if curve.is_messages else failure_interval_warnings(curve, interval)


def _earlier_lateness_warnings(subject: Subject) -> Iterator[str]:
    """Yield a warning for each failure of which a call or stream shows little: much was late before it already."""
    failures: dict[float, list[str]] = {}
    for instant in read_instants(subject.recording):
        if instant.is_failure:
            failures.setdefault(instant.time_s, []).append(instant.place)
    curve = subject.compute_once(read_usable_curve)
    if curve is None or not curve.is_messages:
        return
    for at, places in failures.items():
        before = (curve.times[1:] > at - BEFORE_S) & (curve.times[1:] <= at)
        late = float(np.mean(np.diff(curve.total)[before] == 0)) if before.any() else 0.0
        if late > 1 - RECOVERED_SHARE:
            where = " and ".join(filter(None, places)) or "something"
            yield (
                f"{_number(100 * late)} % of the messages were late or lost in the {BEFORE_S:.0f} s before {where} "
                f"went down at {_number(at)} s: that failure has no outage of its own, and a return to such a rate "
                "says little; judge by late and gap"
            )


def _sampling_warnings(subject: Subject) -> Iterator[str]:
    """Yield a warning if the gap and the outage are no longer than what lies between two samples of the sockets."""
    curve, outage = subject.compute_once(read_usable_curve), subject.compute_once(longest_outage)
    if curve is None or curve.pauses is not None or curve.is_messages or outage is None:
        return
    step = _interval_s(curve)
    if step >= _COARSE_S and outage <= _SAMPLES * step:
        yield (
            f"gap, outage and interruption are only known to the time between two samples, {_number(step)} s: a "
            "shorter `interval` in [record] shows more"
        )


def _interval_s(curve: Delivery) -> float:
    """Return the interval of samples: at least half of the time is in intervals of that length.

    Of many connections, samples of one instant are some microseconds apart.
    """
    steps = np.sort(np.diff(curve.times))
    whole = np.cumsum(steps)
    return float(steps[np.searchsorted(whole, whole[-1] / 2)])


def failure_interval_warnings(curve: Delivery, interval: FailureInterval) -> Iterator[str]:
    """Yield a warning if the outage of one failure is rather a low rate."""
    spans = list_outages(curve, interval)
    if not spans or not compute_outage_s(curve, interval):
        return
    begin, end = max(spans, key=lambda span: span[1] - span[0])
    gap = compute_gap_s(curve, begin, end)
    usual = _usual_bps(curve, interval, end)
    if gap is None or end - begin <= _GAPS * gap or not 0 < usual < _NEAR * interval.low_rate_bps:
        return
    yield (
        f"the outage is rather a low rate than an interruption: for {_number(end - begin)} s less than "
        f"{_number(interval.low_rate_bps / _BITS)} Mbit/s came in each half second, a tenth of the rate to expect, but "
        f"nothing for {_number(gap)} s at most, and {_number(usual / _BITS)} Mbit/s is usual in this failure; what "
        "works carries less than its capacity, so judge by the gap"
    )


def _usual_bps(curve: Delivery, interval: FailureInterval, end_s: float) -> float:
    """Return the median rate from the failure to the restoration, or to the end of the outage if that is later."""
    window = choose_outage_window_s(curve)
    until = min(max(end_s, interval.restored_s), interval.until_s)
    inside = (curve.times >= interval.failure.time_s) & (curve.times + window <= until)
    rates = curve.rates(curve.times[inside], window)
    return float(np.median(rates)) if len(rates) else math.nan


def _number(value: float) -> str:
    """Return a number with three digits, and never with an exponent, so that warnings can be merged."""
    return f"{value:.3g}" if 1e-3 <= value < 1e3 else f"{value:.6f}".rstrip("0").rstrip(".")
