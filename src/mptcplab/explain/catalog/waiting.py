# SPDX-License-Identifier: MIT
"""Reasons why nothing arrives for a while, although the sender has data and its paths work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from mptcplab.explain.catalog.common import counter_lines, number, plural
from mptcplab.explain.evidence import Evidence, Sample, Subflow, Wait
from mptcplab.explain.reason import HINT, PROOF, STRONG, Reason, Sign

#: A window is closed if it holds less than this number of full segments.
_CLOSED = 1
#: The part of a wait in which a window or buffer has to be the limit.
_MOSTLY = 0.5
#: Waiting for the oldest data is worth a note from this length in s on.
_LONG_S = 1.0
#: A timer of this multiple of the usual one has backed off.
_BACKED_OFF = 1.8
#: The shortest timeout of TCP in s, net.ipv4.tcp_rto_min_us.
_MIN_RTO_S = 0.2


def _quiet(evidence: Evidence) -> Iterator[tuple[Wait, list[Subflow]]]:
    """Yield the waits during which no path was down, with the sender's subflows of that connection."""
    for wait in evidence.waits or ():
        if not any(path.is_down(wait.begin_s, wait.end_s) for path in evidence.paths):
            yield wait, [subflow for subflow in evidence.senders() if subflow.connection == wait.connection]


def _samples_during(subflow: Subflow, wait: Wait) -> list[Sample]:
    return [sample for sample in subflow.samples if wait.begin_s <= sample.time_s <= wait.end_s]


def _grew(samples: Sequence[Sample], name: str) -> float:
    """Return by how much a total grew over some samples."""
    values = [value for sample in samples if (value := getattr(sample, name)) is not None]
    return float(values[-1] - values[0]) if len(values) > 1 else 0.0


def _is_closed(sample: Sample) -> bool:
    return sample.snd_wnd is not None and sample.mss is not None and sample.snd_wnd < _CLOSED * sample.mss


def _closed_window(wait: Wait, subflows: Sequence[Subflow]) -> bool:
    """Return whether the receiver's window was closed for most of a wait."""
    samples = [sample for subflow in subflows for sample in _samples_during(subflow, wait)]
    limited = max((_grew(_samples_during(subflow, wait), "rwnd_limited_s") for subflow in subflows), default=0.0)
    closed = sum(map(_is_closed, samples)) >= _MOSTLY * len(samples) if samples else False
    return closed or limited >= _MOSTLY * wait.length_s


def _receiver_does_not_read(evidence: Evidence) -> Iterator[Sign]:
    for wait, subflows in _quiet(evidence):
        if _closed_window(wait, subflows):
            probes = sum(host.known_count("WinProbe") for host in evidence.hosts)
            lines = (f"nothing arrived for {wait.text}", "the window that the receiver offered was closed")
            counted_probes = (f"WinProbe {probes}",) if probes else ()
            yield Sign(
                lines=(*lines, *counted_probes),
                values={"length": number(wait.length_s), "begin": number(wait.begin_s)},
                cost=wait.length_s,
            )


def _timed_out(wait: Wait, subflows: Sequence[Subflow]) -> list[tuple[Subflow, float]]:
    """Return the subflows whose timer backed off during a wait, each with its highest timeout in s."""
    pairs = []
    for subflow in subflows:
        samples = _samples_during(subflow, wait)
        timeouts = [sample.rto_s for sample in samples if sample.rto_s is not None and sample.unacked]
        usual = [sample.rto_s for sample in subflow.samples if sample.rto_s is not None and not sample.backoff]
        backed_off = any(sample.backoff for sample in samples)
        doubled = bool(timeouts) and max(timeouts) >= _BACKED_OFF * max(timeouts[0], _MIN_RTO_S)
        again = _grew(samples, "bytes_retrans") > 0 or any(sample.lost for sample in samples)
        if timeouts and usual and again and (backed_off or doubled):
            pairs.append((subflow, max(timeouts)))
    return pairs


def _rto_backoff(evidence: Evidence) -> Iterator[Sign]:
    for wait, subflows in _quiet(evidence):
        if _closed_window(wait, subflows):
            continue
        for subflow, timeout in _timed_out(wait, subflows)[:1]:
            lines = (
                f"nothing arrived for {wait.text}",
                f"{subflow.name}: timeout grew to {number(timeout)} s, retransmissions lost again",
            )
            values = {"path": subflow.name, "length": number(wait.length_s), "timeout": number(timeout)}
            yield Sign(lines=lines, values=values, where=subflow.name, cost=wait.length_s)


def _head_of_line(evidence: Evidence) -> Iterator[Sign]:
    """Other subflows delivered data during the wait; the oldest data is under way on the subflow that had no answer."""
    for wait, subflows in _quiet(evidence):
        if len(subflows) < 2 or _closed_window(wait, subflows):
            continue
        moved = {subflow.name: _grew(_samples_during(subflow, wait), "bytes_acked") for subflow in subflows}
        still = [
            subflow
            for subflow in subflows
            if not moved[subflow.name] and any(s.unacked for s in _samples_during(subflow, wait))
        ]
        slow = still or [
            subflow for subflow in subflows if any(sample.unacked for sample in _samples_during(subflow, wait))
        ]
        others = [name for name, count in moved.items() if count > 0]
        if not slow or not others:
            continue
        blocking = max(slow, key=lambda subflow: subflow.last("rtt_s") or 0.0)
        lines = (
            f"nothing in order arrived for {wait.text}",
            f"{blocking.name}: data under way, round trip {number(1e3 * (blocking.last('rtt_s') or 0))} ms",
        )
        values = {"path": blocking.name, "length": number(wait.length_s)}
        # Paths with ordinary queues have such waits of half a second now and then, when a retransmission is lost. After
        # data that the receiver dropped, since it was beyond the window, the wait is for that (see beyond-window).
        is_dropped = any(host.known_count("NoDSSInWindow") for host in evidence.hosts)
        strength = STRONG if wait.length_s >= _LONG_S and not is_dropped else HINT
        yield Sign(lines=lines, values=values, where=blocking.name, cost=wait.length_s, strength=strength)


def _queued_on_slow_path(evidence: Evidence) -> Iterator[Sign]:
    """Data waits unsent on one subflow while another has nothing to do: the scheduler gave it to the wrong one."""
    for wait, subflows in _quiet(evidence):
        idle = [
            subflow
            for subflow in subflows
            if _samples_during(subflow, wait) and not any(s.unacked for s in _samples_during(subflow, wait))
        ]
        stuck = [
            subflow
            for subflow in subflows
            if _samples_during(subflow, wait) and all(s.notsent_bytes for s in _samples_during(subflow, wait))
        ]
        if idle and stuck and not _timed_out(wait, subflows) and not _closed_window(wait, subflows):
            waiting = max(sample.notsent_bytes or 0 for sample in _samples_during(stuck[0], wait))
            lines = (
                f"nothing arrived for {wait.text}",
                f"{stuck[0].name}: {waiting} B not sent; {idle[0].name}: idle",
            )
            values = {"path": stuck[0].name, "idle": idle[0].name, "bytes": waiting, "length": number(wait.length_s)}
            yield Sign(lines=lines, values=values, where=stuck[0].name, cost=wait.length_s)


def _syn_lost(evidence: Evidence) -> Iterator[Sign]:
    """The connection began late: its first SYN, or the answer, was lost, and the next one follows after a second."""
    client, expected = evidence.client, evidence.expected
    if client is None or expected is None or expected.start_s is None:
        return
    again = client.counter("TcpExtTCPSynRetrans") or 0
    opened = [
        min(sample.time_s for sample in subflow.samples if sample.state not in ("syn-sent", "syn-recv"))
        for subflow in evidence.subflows or ()
        if subflow.host == client.name
        and any(sample.state not in ("syn-sent", "syn-recv") for sample in subflow.samples)
    ]
    late = min(opened, default=expected.start_s) - expected.start_s
    trip = max((path.round_trip_s or 0.0 for path in evidence.paths), default=0.0)
    down = any(path.is_down(expected.start_s, expected.start_s + late) for path in evidence.paths)
    if again and late >= 0.9 + trip and not client.known_count("MPCapableSYNTXDrop") and not down:
        lines = (
            f"{client.name}: TcpExtTCPSynRetrans {again}",
            f"established {number(late)} s after the start",
        )
        yield Sign(lines=lines, values={"length": number(late)}, cost=late)


def _beyond_window(evidence: Evidence) -> Iterator[Sign]:
    counts = {host.name: count for host in evidence.hosts if (count := host.known_count("NoDSSInWindow"))}
    if counts:
        lines = tuple(f"{name}: NoDSSInWindow {count}" for name, count in counts.items())
        yield Sign(lines=lines, values={"count": sum(counts.values())}, strength=PROOF)


def _cwnd_after_idle(evidence: Evidence) -> Iterator[Sign]:
    """The congestion window fell, nothing was lost, and nothing had been sent for a timeout."""
    for subflow in evidence.senders():
        falls = 0
        idle_since: float | None = None
        before: Sample | None = None
        for sample in subflow.samples:
            if before is not None and None not in (sample.cwnd, before.cwnd, sample.bytes_sent, before.bytes_sent):
                sent = sample.bytes_sent != before.bytes_sent
                if not sent and idle_since is None:
                    idle_since = before.time_s
                lost = sample.bytes_retrans != before.bytes_retrans
                fell = (sample.cwnd or 0) < (before.cwnd or 0)
                long = idle_since is not None and sample.time_s - idle_since > (sample.rto_s or _MIN_RTO_S)
                falls += fell and not lost and long
                idle_since = None if sent else idle_since
            before = sample
        if falls >= 2:
            lines = (f"{subflow.name}: the congestion window fell {falls} times after idle times, without loss",)
            values = {"path": subflow.name, "count": plural(falls, "time")}
            yield Sign(lines=lines, values=values, where=subflow.name, strength=HINT)


def _memory(evidence: Evidence) -> Iterator[Sign]:
    for host in evidence.hosts:
        count = host.counter("TcpExtTCPMemoryPressures") or 0
        if count:
            lines = (f"{host.name}: TcpExtTCPMemoryPressures {count}",)
            yield Sign(lines=lines, values={"host": host.name, "count": plural(count, "time")}, strength=STRONG)


def _out_of_order(evidence: Evidence) -> Iterator[Sign]:
    """No wait is long enough, but much of the data had to wait for earlier data of another subflow."""
    for host in evidence.hosts:
        queued, arrived = host.known_count("OFOQueue"), host.counter("TcpInSegs") or 0
        if arrived > 1000 and queued > 0.5 * arrived:
            lines = (*counter_lines(host, "OFOQueue"), f"{host.name}: TcpInSegs {arrived}")
            values = {"host": host.name, "percent": round(100 * queued / arrived)}
            yield Sign(lines=lines, values=values, strength=HINT)


#: Makes a reason of this module's kind.
_reason = partial(Reason, kind="waiting")

REASONS = (
    _reason(
        key="receiver-does-not-read",
        title="The receiving application does not read",
        needs=("waits", "subflows"),
        recognise=_receiver_does_not_read,
        sentence="nothing arrived for {length} s from {begin} s: the receiver's window was closed, since its "
        "application did not read, or its buffer was full of data out of order",
        cure="let the application read faster, or raise the maximum of net.ipv4.tcp_rmem",
        confirm="Recv-Q of `ss -tM` at the receiver; the wait ends when the application reads",
        explanation="All subflows share the connection's window. When it is closed, the sender probes it "
        "(WinProbe) with growing intervals.",
        page="workloads.md",
    ),
    _reason(
        key="timeouts-back-off",
        title="Retransmissions are lost as well",
        needs=("waits", "subflows"),
        recognise=_rto_backoff,
        sentence="nothing arrived for {length} s: retransmissions on {path} were lost as well, and its timeout grew to "
        "{timeout} s",
        cure="find what loses packets in bursts on that path; a scheduler that retransmits elsewhere helps",
        confirm="`ss -ti` shows backoff on that subflow",
        explanation="Each timeout without an answer doubles the next. MPTCP sends the data again on another subflow by "
        "a timer of its own, which is not shorter.",
        page="links.md#loss-copies-damage",
    ),
    _reason(
        key="head-of-line",
        title="Data waits for the oldest, which is on a slower path",
        needs=("waits", "subflows"),
        recognise=_head_of_line,
        sentence="nothing in order arrived for {length} s: the oldest data was under way on {path}",
        cure="a scheduler that knows of it (blest, ecf), a smaller queue on that path, or a larger receive buffer",
        confirm="the same without that path, or with another scheduler, has no such wait",
        explanation="The application gets data in order. What comes over faster paths waits in the receive buffer "
        "(OFOQueue), and the sender stops when that is full.",
        page="schedulers.md#opportunistic-retransmission-and-penalisation",
    ),
    _reason(
        key="queued-on-slow-path",
        title="The scheduler queued data on a busy path",
        needs=("waits", "subflows"),
        recognise=_queued_on_slow_path,
        sentence="nothing arrived for {length} s: {bytes} B waited to be sent on {path}, and {idle} was idle",
        cure="another scheduler (blest, ecf), or a smaller net.ipv4.tcp_notsent_lowat",
        confirm="notsent in `ss -ti` on one subflow while another has nothing under way",
        explanation="Once given to a subflow, data stays there, unless MPTCP sends it again elsewhere. The default "
        "scheduler bets on the time by which each subflow will have sent what it has.",
        page="schedulers.md",
        scenario="head-of-line",
    ),
    _reason(
        key="syn-lost",
        title="The first SYN was lost",
        needs=("client counters", "subflows", "expectations"),
        recognise=_syn_lost,
        sentence="the connection was established {length} s after its start: the first SYN or its answer was lost, and "
        "the next follows after a second",
        cure="nothing, if it is rare; else find what loses packets on the first path",
        confirm="TcpExtTCPSynRetrans grows with each late connection",
        explanation="TCP knows no round-trip time yet, and waits for a second (TCP_TIMEOUT_INIT).",
        page="path-management.md#when-syns-are-lost",
    ),
    _reason(
        key="beyond-window",
        title="Data beyond the connection's window",
        needs=("counters",),
        recognise=_beyond_window,
        sentence="the kernel sent segments beyond the connection's window, of which these hosts dropped {count}: a bug "
        "of mainline that makes transfers wait",
        cure="`mptcplab kernel build --fix window` builds a kernel without it",
        confirm="MPTcpExtNoDSSInWindow of the receiver grows during waits",
        explanation="The sender retransmits on a subflow what the receiver has no room for, and the receiver drops it "
        "(mptcp_data_queue_ofo() in net/mptcp/protocol.c). A timeout follows.",
        page="limitations.md#the-kernel-under-test",
        is_noted=False,
    ),
    _reason(
        key="slow-start-after-idle",
        title="The congestion window is reset after idle times",
        needs=("subflows",),
        recognise=_cwnd_after_idle,
        sentence="the congestion window of {path} fell {count} after idle times, so each burst begins slowly",
        cure="`sysctl -w net.ipv4.tcp_slow_start_after_idle=0`",
        confirm="cwnd in `ss -ti` falls between bursts, and retransmissions do not grow",
        explanation="After a timeout without data, TCP takes what it knew of the path for old (RFC 5681, section 4.1). "
        "With several subflows, each is idle more often.",
        page="workloads.md#requests",
        scenario="head-of-line",
    ),
    _reason(
        key="memory-pressure",
        title="The host is short of memory for sockets",
        needs=("counters",),
        recognise=_memory,
        sentence="{host} was short of memory for sockets {count} (TcpExtTCPMemoryPressures)",
        cure="raise net.ipv4.tcp_mem, or use smaller buffers",
        confirm="`cat /proc/net/sockstat` beside `sysctl net.ipv4.tcp_mem`",
        explanation="All sockets of a host share net.ipv4.tcp_mem. Near its limit, the kernel shrinks windows.",
        page="machine.md#what-all-hosts-of-a-lab-share",
        is_noted=False,
        shown_in="session",
    ),
    _reason(
        key="out-of-order",
        title="Most data arrives out of order",
        needs=("counters",),
        recognise=_out_of_order,
        sentence="{percent} % of the segments at {host} waited for earlier data of another subflow",
        cure="nothing, if the receive buffer is large enough; else a scheduler that orders (blest, ecf)",
        confirm="OFOQueue grows much slower with one path",
        explanation="Paths with different round-trip times need a buffer for what the faster one is ahead.",
        page="schedulers.md",
        scenario="send-buffer",
    ),
)
