# SPDX-License-Identifier: MIT
"""Reasons why a connection carries less than its paths could together."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import inf
from statistics import median

from mptcplab.explain.catalog.common import counter_lines, fell_back, megabits, number, of_connections
from mptcplab.explain.evidence import Evidence, Path, Subflow
from mptcplab.explain.reason import HINT, PROOF, STRONG, Reason, Sign

#: Less than this part of what the paths carry together is low.
_LOW = 0.8
#: A limit holds if it applied for this part of the time in which there was something to send.
_LIMITED = 0.3
#: Shares of less time than this, in s, say little.
_MIN_BUSY_S = 0.3
#: A send buffer is full if its payload takes this part of its maximum.
_OF_BUFFER = 0.4
#: The part of the receive buffer that is window, as Linux announces it before it has measured the overhead.
_WINDOW = 0.5
#: A CPU that was busy for this share of a workload's time may have been the limit.
BUSY = 0.9
#: A pacing rate that varies by no more is constant.
_CONSTANT = 1.001
#: Rates of shorter subflows, in s, say little.
_LONG_ENOUGH_S = 1.0
#: TCP at a random loss has about this times the segment size a round trip over the root of the loss (Mathis et al.
#: 1997; CUBIC has more). A subflow with less than a part of that has another limit.
_MATHIS, _PART = 1.22, 0.3
#: If the retransmitted part is more than this multiple of the lost part, queues dropped the rest.
_BY_CHANCE = 4.0
#: This many retransmitted segments show that it was not one unlucky loss.
_MANY_SEGMENTS = 20
#: Fewer segments that were sent again on another subflow say little.
_MANY_RETRANSMISSIONS = 1000
#: BBR is worth a word from this round trip in s on.
_LONG_TRIP_S = 0.1
#: Congestion controls that couple the subflows of a connection.
_COUPLED = ("lia", "olia", "balia", "wvegas", "semicoupled")
#: Round-trip times of this multiple of the shortest one show a standing queue, from this length in s on.
_BLOATED, _LONG_S = 4.0, 0.2

# Subflows that joined late and were limited by the window of a new connection.
#
# Mainline enlarges the receive buffers of subflows when it enlarges the connection's (``mptcp_rcv_space_adjust()`` in
# net/mptcp/protocol.c). A subflow that joins afterwards has the default of ``tcp_rmem`` until the connection's buffer
# grows again, which may be never. :mod:`mptcplab.metrics.warnings` has the same rule for the samples of a recording.

#: A subflow that is first seen this long after its connection, in s, is late. Subflows of a new connection join within
#: some round trips, and share the growth of its buffer.
LATE_S = 2.0
#: The window is the limit while this share of it is under way, and the congestion window would allow half as much
#: again.
FULL_WINDOW, ROOM_IN_CWND = 0.8, 1.5
#: A line that such a window fills has a standing queue, with round trips above this multiple of the shortest. Then the
#: line is the limit.
EMPTY_QUEUE = 1.25
#: The share of a subflow's samples in which it must be the limit, and the least number of samples.
MOST_SAMPLES, MIN_SAMPLES = 0.5, 10
#: Another subflow of the connection was offered a window that is larger by this factor.
SMALL_WINDOW = 4.0


def is_coupled(congestion_control: str) -> bool:
    """Return whether a congestion control couples the subflows of a connection, also in a variant: ``olia_v09``."""
    return congestion_control.split("_")[0] in _COUPLED


def capacity_bps(evidence: Evidence) -> float | None:
    """Return what the paths that should be used carry together; None if it is not known.

    Paths that share a link share its rate. The bound is the smallest of three cuts: the first links of all paths, the
    last links, and the narrowest link of each path.
    """
    paths = [path for path in evidence.paths if not path.is_backup and path.links]
    if not paths:
        return None
    steps = [list(path.links.items()) for path in paths]
    cuts = (
        dict(step[0] for step in steps),
        dict(step[-1] for step in steps),
        dict(min(step, key=lambda pair: inf if pair[1] is None else pair[1]) for step in steps),
    )
    bounds = [sum(inf if rate is None else rate for rate in cut.values()) for cut in cuts]
    return min(bounds) if min(bounds) < inf else None


def _is_low(evidence: Evidence) -> bool:
    """Return whether a bulk transfer got much less than its paths carry; True if nobody said what to expect.

    A connection that fell back has no sum.
    """
    expected = evidence.expected
    if fell_back(evidence):
        return False
    if expected is None or (expected.goodput_bps is None and not expected.paths):
        return True
    capacity = capacity_bps(evidence)
    if expected.goodput_bps is None or capacity is None or not expected.is_bulk or not expected.mptcp:
        return False
    return expected.goodput_bps < _LOW * capacity and not any(path.down for path in expected.paths)


def _sum_text(evidence: Evidence) -> tuple[str, ...]:
    expected, capacity = evidence.expected, capacity_bps(evidence)
    if expected is None or expected.goodput_bps is None or capacity is None:
        return ()
    return (f"goodput {megabits(expected.goodput_bps)} of {megabits(capacity)}",)


def _share(subflows: list[Subflow], name: str) -> float:
    """Return the part of the time with something to send in which a limit applied, for the subflow with most of it."""
    shares = [
        (subflow.last(name) or 0.0) / busy
        for subflow in subflows
        if (busy := subflow.last("busy_s") or 0.0) > _MIN_BUSY_S
    ]
    return max(shares, default=0.0)


def _need_bytes(evidence: Evidence) -> float | None:
    """Return the buffer that fills all paths: their rates times the longest round trip, without queues."""
    paths = [path for path in evidence.paths if not path.is_backup]
    trips = [path.round_trip_s for path in paths if path.round_trip_s is not None]
    capacity = capacity_bps(evidence)
    return capacity / 8 * max(trips) if capacity is not None and trips else None


def _maximum(evidence: Evidence, host: str | None, name: str) -> int | None:
    """Return the third value of net.ipv4.tcp_rmem or tcp_wmem of a host."""
    for entry in evidence.hosts:
        if (host is None or entry.name == host) and entry.sysctls and name in entry.sysctls:
            values = entry.sysctls[name].split()
            return int(values[2]) if len(values) == 3 and values[2].isdigit() else None
    return None


def _receive_buffer(evidence: Evidence) -> Iterator[Sign]:
    if not _is_low(evidence):
        return
    receiver = evidence.expected.receiver if evidence.expected is not None else None
    maximum, need = _maximum(evidence, receiver, "net.ipv4.tcp_rmem"), _need_bytes(evidence)
    late = [subflow for subflow, *_ in _late_subflows(evidence)]  # They wait for their own window: see late-window.
    share = _share([subflow for subflow in evidence.senders() if subflow not in late], "rwnd_limited_s")
    too_small = maximum is not None and need is not None and _WINDOW * maximum < need
    is_judged = maximum is not None and need is not None
    if not too_small and (is_judged or share < _LIMITED):
        return
    lines = [*_sum_text(evidence)]
    if maximum is not None:
        lines.append(f"{receiver or 'receiver'}: net.ipv4.tcp_rmem at most {maximum} B, of which about half is window")
    if need is not None:
        lines.append(f"rates times the longest round trip: {number(need / 1e3)} kB")
    if share >= _LIMITED:
        lines.append(f"limited by the receiver's window for {number(100 * share)} % of the time")
    yield Sign(
        lines=tuple(lines),
        values={
            "buffer": f"{number((maximum or 0) / 1e3)} kB" if maximum is not None else "the receive buffer",
            "need": f" for {number(2 * need / 1e3)} kB" if need is not None else "",
        },
        strength=PROOF if too_small and share >= _LIMITED else STRONG,
        cost=_loss_of_rate(evidence),
    )


def _loss_of_rate(evidence: Evidence) -> float:
    """Return the part of the capacity that is missing, to rank findings."""
    expected, capacity = evidence.expected, capacity_bps(evidence)
    if expected is None or expected.goodput_bps is None or not capacity:
        return 0.0
    return max(0.0, 1 - expected.goodput_bps / capacity)


def _send_buffer(evidence: Evidence) -> Iterator[Sign]:
    if not _is_low(evidence):
        return
    sender = evidence.expected.sender if evidence.expected is not None else None
    maximum, need = _maximum(evidence, sender, "net.ipv4.tcp_wmem"), _need_bytes(evidence)
    share = _share(evidence.senders(), "sndbuf_limited_s")
    is_full = False
    if maximum is not None and need is not None:
        waiting = [
            count
            for connection in evidence.connections or ()
            if connection.host == sender
            for _, count in connection.pending
        ]
        is_full = maximum < need and bool(waiting) and median(waiting) >= _OF_BUFFER * maximum
    if not is_full and (share < _LIMITED or need is not None):
        return
    lines = [*_sum_text(evidence)]
    if share >= _LIMITED:
        lines.append(f"limited by the send buffer for {number(100 * share)} % of the time")
    if maximum is not None:
        lines.append(f"{sender or 'sender'}: net.ipv4.tcp_wmem at most {maximum} B")
    size = f" ({number(maximum / 1e3)} kB)" if maximum is not None else ""
    yield Sign(lines=tuple(lines), values={"size": size}, cost=_loss_of_rate(evidence))


def _random_loss(evidence: Evidence) -> Iterator[Sign]:
    if not _is_low(evidence):
        return
    for subflow in evidence.senders():
        path = evidence.path(subflow.path)
        sent, again = subflow.last("bytes_sent") or 0.0, subflow.last("bytes_retrans") or 0.0
        acked, lifetime = subflow.last("bytes_acked") or 0.0, subflow.lifetime_s
        if path is None or not path.loss or path.rate_bps is None or lifetime < _LONG_ENOUGH_S or not again:
            continue
        rate = 8 * acked / lifetime
        trip, mss = subflow.median("rtt_s"), subflow.last("mss")
        if trip is None or mss is None or again > _BY_CHANCE * path.loss * sent:
            continue
        bound = 8 * _MATHIS * mss / (trip * path.loss**0.5)
        if _PART * bound < rate < 0.7 * path.rate_bps and bound < path.rate_bps:
            lines = (
                f"{path.name}: {megabits(rate)} of {megabits(path.rate_bps)}",
                f"{number(100 * again / sent)} % of the bytes were sent again; {number(100 * path.loss)} % of packets "
                "are lost at random",
            )
            yield Sign(
                lines=lines,
                values={"path": path.name, "rate": megabits(rate), "loss": number(100 * path.loss)},
                where=path.name,
                strength=STRONG if again >= _MANY_SEGMENTS * mss else HINT,
                cost=_loss_of_rate(evidence),
            )


def _shared_bottleneck(evidence: Evidence) -> Iterator[Sign]:
    paths = [path for path in evidence.paths if not path.is_backup and path.links]
    capacity = capacity_bps(evidence)
    alone = sum(path.rate_bps or 0.0 for path in paths)
    narrow: dict[str, list[Path]] = {}
    for path in paths:
        limited = [(rate, step) for step, rate in path.links.items() if rate is not None]
        if limited:
            narrow.setdefault(min(limited)[1], []).append(path)
    shared = {step: users for step, users in narrow.items() if len(users) > 1}
    if shared and capacity is not None and capacity < 0.95 * alone:
        step, users = next(iter(shared.items()))
        if len({path.client for path in users}) > 1 or len({path.server for path in users}) > 1:
            lines = (f"{step} is the narrowest link of {' and '.join(path.name for path in users)}",)
            yield Sign(lines=lines, values={"step": step, "rate": megabits(capacity)}, strength=HINT)


def _find_coupled_control(evidence: Evidence) -> Iterator[Sign]:
    names = {subflow.congestion for subflow in evidence.senders() if subflow.congestion}
    if evidence.expected is not None and evidence.expected.congestion:
        names.add(evidence.expected.congestion)
    coupled = sorted(name for name in names if is_coupled(name))
    lossy = any(path.loss for path in evidence.paths)
    if coupled and _is_low(evidence) and not lossy:
        lines = (*_sum_text(evidence), f"congestion control {coupled[0]}")
        yield Sign(lines=lines, values={"control": coupled[0]}, strength=HINT, cost=_loss_of_rate(evidence))


def _busy_cpu(evidence: Evidence) -> Iterator[Sign]:
    ends = {host.name for host in evidence.hosts}
    gateway = evidence.expected.gateway if evidence.expected is not None else None
    for name, share in (evidence.cpus or {}).items():
        if share >= BUSY and not (gateway and name in ends):
            yield _cpu_sign(name, share)


def _busy_proxy(evidence: Evidence) -> Iterator[Sign]:
    ends = {host.name for host in evidence.hosts}
    gateway = evidence.expected.gateway if evidence.expected is not None else None
    for name, share in (evidence.cpus or {}).items():
        if share >= BUSY and gateway and name in ends:
            yield _cpu_sign(name, share, gateway)


def _cpu_sign(name: str, share: float, gateway: str = "") -> Sign:
    values = {"host": name, "percent": f"{100 * share:.0f}", "gateway": gateway}
    return Sign(lines=(f"{name}: CPU busy {100 * share:.0f} %",), values=values, where=name)


def _find_pacing(evidence: Evidence) -> Iterator[Sign]:
    """The pacing rate is constant and is what the subflow delivers, and the congestion window has room."""
    for subflow in evidence.senders():
        rates = subflow.values("pacing_bps")
        rates = rates[len(rates) // 2 :]
        sent = subflow.last("bytes_acked") or 0.0
        if len(rates) < MIN_SAMPLES or max(rates) > _CONSTANT * min(rates) or subflow.lifetime_s < _LONG_ENOUGH_S:
            continue
        rate = 8 * sent / subflow.lifetime_s
        if 0.8 * rates[-1] < rate < 1.05 * rates[-1] and _is_low(evidence):
            lines = (f"{subflow.name}: paced at {megabits(rates[-1])}, delivers {megabits(rate)}",)
            yield Sign(lines=lines, values={"path": subflow.name, "rate": megabits(rates[-1])}, where=subflow.name)


def _bloated_queue(evidence: Evidence) -> Iterator[Sign]:
    """One path's full queue makes its round trip longer than the buffer lasts for what the other paths send."""
    if not _is_low(evidence):
        return
    sending = evidence.senders()
    share = _share(sending, "rwnd_limited_s")
    for subflow in sending:
        usual, shortest = subflow.median("rtt_s"), subflow.last("min_rtt_s")
        if usual is None or not shortest or len(sending) < 2:
            continue
        if usual > _LONG_S and usual > _BLOATED * shortest:
            lines = (
                f"{subflow.name}: round trip {number(1e3 * usual)} ms, {number(1e3 * shortest)} ms when empty",
                *_sum_text(evidence),
            )
            values = {"path": subflow.name, "rtt": number(1e3 * usual), "empty": number(1e3 * shortest)}
            strength = STRONG if share >= _LIMITED or evidence.paths else HINT
            yield Sign(lines=lines, values=values, where=subflow.name, strength=strength, cost=_loss_of_rate(evidence))


def _redundant(evidence: Evidence) -> Iterator[Sign]:
    scheduler = evidence.expected.scheduler if evidence.expected is not None else None
    duplicates = sum(host.known_count("DuplicateData") for host in evidence.hosts)
    if scheduler == "redundant" and duplicates and len(evidence.senders()) > 1:
        lines = ("scheduler redundant", *_sum_text(evidence), f"DuplicateData {duplicates}")
        yield Sign(lines=lines, strength=HINT)


def _find_reinjection(evidence: Evidence) -> Iterator[Sign]:
    """Much of what one subflow sent was sent again on another."""
    scheduler = evidence.expected.scheduler if evidence.expected is not None else None
    for host in evidence.hosts:
        again, sent = host.known_count("MPTCPRetrans"), host.counter("TcpOutSegs") or 0
        if scheduler != "redundant" and sent > 1000 and again > 0.1 * sent and _is_low(evidence):
            values = {"host": host.name, "percent": round(100 * again / sent)}
            lines = (*counter_lines(host, "MPTCPRetrans"), f"{host.name}: TcpOutSegs {sent}", *_sum_text(evidence))
            yield Sign(lines=lines, values=values, strength=STRONG, cost=_loss_of_rate(evidence))


def _find_early_retransmission(evidence: Evidence) -> Iterator[Sign]:
    """As much was sent again on another subflow as arrived out of order: what was sent again was late, and not lost."""
    queued = max((host.known_count("OFOQueue") for host in evidence.hosts), default=0)
    for host in evidence.hosts:
        again = host.known_count("MPTCPRetrans")
        if again >= _MANY_RETRANSMISSIONS and 0.5 * queued < again < 2 * queued:
            values = {"host": host.name, "count": again, "queued": queued}
            yield Sign(lines=counter_lines(host, "MPTCPRetrans", "OFOQueue"), values=values, strength=HINT)


def _find_bbr(evidence: Evidence) -> Iterator[Sign]:
    """BBR over long paths: it loses much where queues are shorter than a round trip, and needs more memory."""
    sending = evidence.senders()
    trips = [trip for subflow in sending if (trip := subflow.last("min_rtt_s") or subflow.last("rtt_s"))]
    names = {subflow.congestion for subflow in sending if subflow.congestion}
    if not names and evidence.expected is not None:
        names = {evidence.expected.congestion or ""}
    if names != {"bbr"} or max(trips, default=0.0) < _LONG_TRIP_S or not _is_low(evidence):
        return
    sent = sum(subflow.last("bytes_sent") or 0.0 for subflow in sending)
    again = sum(subflow.last("bytes_retrans") or 0.0 for subflow in sending)
    lines = (
        *_sum_text(evidence),
        f"congestion control bbr, round trip {number(1e3 * max(trips))} ms",
        f"{number(100 * again / sent if sent else 0)} % of the bytes were sent again",
    )
    values = {"rtt": number(1e3 * max(trips))}
    yield Sign(lines=lines, values=values, strength=HINT, cost=_loss_of_rate(evidence))


def _application_slow(evidence: Evidence) -> Iterator[Sign]:
    """All subflows had nothing to send for most of the time."""
    for group in of_connections(evidence.senders()).values():
        life = max((subflow.lifetime_s for subflow in group), default=0.0)
        busy = [subflow.last("busy_s") for subflow in group]
        known = [value for value in busy if value is not None]
        if life < 1 or len(known) < len(group) or max(known, default=life) > 0.5 * life:
            continue
        if evidence.expected is not None and evidence.expected.is_bulk and not _is_low(evidence):
            continue
        lines = (f"something to send for {number(100 * max(known) / life)} % of {number(life)} s",)
        yield Sign(lines=lines, values={"percent": number(100 * max(known) / life)}, strength=HINT)
        return


def _too_short_for_rate(evidence: Evidence) -> Iterator[Sign]:
    """In slow start, a path needs some round trips to fill: the transfer ended before."""
    expected, need = evidence.expected, _need_bytes(evidence)
    if expected is None or not _is_low(evidence) or not expected.duration_s or need is None:
        return
    trips = [path.round_trip_s for path in expected.paths if path.round_trip_s]
    sent = sum(subflow.last("bytes_acked") or 0.0 for subflow in evidence.senders())
    if trips and expected.duration_s < 10 * max(trips) and sent < 10 * need:
        lines = (f"{number(expected.duration_s)} s, the longest round trip {number(1e3 * max(trips))} ms",)
        yield Sign(lines=lines, values={"length": number(expected.duration_s)}, strength=HINT)


def _late_window(evidence: Evidence) -> Iterator[Sign]:
    """A subflow that joined late is limited by the window of a new connection."""
    for subflow, window, largest in _late_subflows(evidence):
        lines = (f"{subflow.name}: window {number(window / 1e3)} kB, the largest {number(largest / 1e3)} kB",)
        values = {"path": subflow.name, "window": f"{window / 1e3:.3g}"}
        yield Sign(lines=lines, values=values, where=subflow.name, strength=PROOF)


def _late_subflows(evidence: Evidence) -> Iterator[tuple[Subflow, float, float]]:
    """Yield late subflows that their window limited: with that window, and the largest one of their connection."""
    for group in of_connections(evidence.senders()).values():
        begun = min((member.samples[0].time_s for member in group if member.samples), default=0.0)
        largest = max((window for member in group for window in member.values("snd_wnd")), default=0.0)
        for subflow in group:
            if subflow.samples and subflow.samples[0].time_s - begun >= LATE_S:
                window = _limiting_window(subflow, largest)
                if window is not None:
                    yield subflow, window, largest


def _limiting_window(subflow: Subflow, largest: float) -> float | None:
    """Return the usual window of a subflow if it was the limit for most of the time, and is small beside others."""
    windows: list[int] = []
    limited = 0
    for sample in subflow.samples:
        if sample.state not in (None, "established") or not sample.unacked:
            continue
        if sample.snd_wnd is None or sample.mss is None or sample.cwnd is None or not sample.min_rtt_s:
            continue
        windows.append(sample.snd_wnd)
        full = sample.unacked * sample.mss >= FULL_WINDOW * sample.snd_wnd
        room = sample.cwnd * sample.mss >= ROOM_IN_CWND * sample.snd_wnd
        limited += full and room and (sample.rtt_s or inf) <= EMPTY_QUEUE * sample.min_rtt_s
    if len(windows) < MIN_SAMPLES or limited < MOST_SAMPLES * len(windows):
        return None
    usual = float(median(windows))
    return usual if largest >= SMALL_WINDOW * usual else None


#: Makes a reason of this module's kind.
_reason = partial(Reason, kind="low sum")

REASONS = (
    _reason(
        key="receive-buffer",
        title="The receive buffer is too small for these paths",
        needs=("subflows",),
        recognise=_receive_buffer,
        sentence="the receive buffer ({buffer}) is too small{need}: all paths together need twice their rates times "
        "the longest round trip",
        cure="raise the maximum of net.ipv4.tcp_rmem at the receiver",
        confirm="with a maximum of four times as much, the sum is higher",
        explanation="The window belongs to the connection, and holds what all paths carry during the longest round "
        "trip (RFC 8684, section 3.3.4, and its rule for buffers). Linux announces about half of the buffer.",
        page="behaviour.md#how-it-is-measured",
    ),
    _reason(
        key="send-buffer",
        title="The send buffer is too small for these paths",
        needs=("subflows",),
        recognise=_send_buffer,
        sentence="the send buffer{size} is too small for these paths: it was full for most of the time",
        cure="raise the maximum of net.ipv4.tcp_wmem at the sender",
        confirm="sndbuf_limited in `ss -ti` no longer grows",
        explanation="What is not acknowledged as data stays in the send buffer, also what a faster path has delivered.",
        page="scenario.md",
    ),
    _reason(
        key="random-loss",
        title="Random loss limits a path",
        needs=("subflows", "expectations"),
        recognise=_random_loss,
        sentence="random loss of {loss} % keeps the subflow on {path} at {rate}",
        cure="BBR, or a link layer that repeats",
        confirm="the same without loss on that path, or with another congestion control",
        explanation="Loss-based congestion controls halve their window, or take 0.7 of it, at each loss, and need many "
        "round trips to recover.",
        page="links.md#loss-copies-damage",
    ),
    _reason(
        key="shared-bottleneck",
        title="The paths share a link",
        needs=("expectations",),
        recognise=_shared_bottleneck,
        sentence="both paths go over {step}, so that their sum is at most {rate}",
        cure="a path that does not share it",
        confirm="`mptcplab show` draws the network; on real paths, the rate of both at the same time against each "
        "alone",
        explanation="At a shared bottleneck, the sum is the rate of one. RFC 6356 demands that MPTCP takes no more "
        "there than a single connection of TCP.",
        page="behaviour.md#rfc-6356-goal-2-not-more-than-tcp-at-a-shared-bottleneck",
    ),
    _reason(
        key="coupled-control",
        title="Coupled congestion control",
        needs=("subflows",),
        recognise=_find_coupled_control,
        sentence="{control} couples the subflows, and takes no more in sum than TCP would on the best path",
        cure="cubic or bbr on each subflow, where fairness at shared links does not matter",
        confirm="the same with cubic",
        explanation="RFC 6356 limits the growth of all windows together. On long paths the sum recovers slowly.",
        page="congestion-controls.md",
    ),
    _reason(
        key="busy-cpu",
        title="A CPU is the limit",
        needs=("cpu",),
        recognise=_busy_cpu,
        sentence="the CPU of {host} was busy {percent} % of the time: it may have been the limit",
        cure="a faster CPU, larger segments (offload), or fewer copies",
        confirm="`top -H`, and the same with half the rate on the links",
        explanation="Kernel and program of a connection share one CPU in general.",
        page="cpu.md#what-a-run-says-about-it",
        is_noted=False,
        why_no_scenario="it needs a kernel with the option cpu: `tests/cpu/test_node_cpu.py` has runs of it",
    ),
    _reason(
        key="busy-proxy",
        title="A proxy keeps one CPU busy",
        needs=("cpu",),
        recognise=_busy_proxy,
        sentence="the CPU of {host} was busy {percent} % of the time, by {gateway}: it may have been the limit",
        cure="a gateway program with several threads, a cheaper cipher, or a faster CPU",
        confirm="`top -H` shows one thread near 100 %",
        explanation="Most proxies encrypt a connection on one CPU, however many paths it has.",
        page="gateways.md",
        why_no_scenario="it needs a kernel with the option cpu, and a gateway's program",
    ),
    _reason(
        key="paced",
        title="The application limits the rate",
        needs=("subflows",),
        recognise=_find_pacing,
        sentence="the subflow on {path} is paced at {rate}, which is what it delivers",
        cure="raise or remove SO_MAX_PACING_RATE in the application",
        confirm="pacing_rate in `ss -ti` is constant",
        explanation="A pacing rate that congestion control sets follows window and round-trip time, and changes.",
        page="workloads.md",
        why_no_scenario="Linux 7.2 refuses SO_MAX_PACING_RATE on MPTCP sockets",
    ),
    _reason(
        key="queue-of-one-path",
        title="The queue of one path delays the others",
        needs=("subflows",),
        recognise=_bloated_queue,
        sentence="the queue of {path} makes its round trip {rtt} ms, {empty} ms when empty, and the receiver waits "
        "for it",
        cure="a smaller queue or AQM there (fq_codel, cake), or a scheduler that knows of it (blest, ecf)",
        confirm="`ping` over that path during the transfer",
        explanation="What the faster path sends in that time has to wait in the receive buffer.",
        page="links.md#queues",
    ),
    _reason(
        key="redundant-scheduler",
        title="The scheduler sends everything twice",
        needs=("expectations", "subflows", "counters"),
        recognise=_redundant,
        sentence="the scheduler redundant sends all data over every path, so the sum is the rate of the best one",
        cure="another scheduler, if the sum matters more than delay",
        confirm="DuplicateData at the receiver",
        explanation="It is made for short answers over unreliable paths.",
        page="schedulers.md#one-by-one",
    ),
    _reason(
        key="reinjections",
        title="Much is sent again on other paths",
        needs=("counters",),
        recognise=_find_reinjection,
        sentence="{percent} % of the segments of {host} had been sent before, on another subflow",
        cure="see why one path does not deliver in time: loss, silence, a long queue",
        confirm="MPTCPRetrans grows during waits",
        explanation="MPTCP sends data again that was not acknowledged in time (mptcp_worker() in "
        "net/mptcp/protocol.c).",
        page="schedulers.md#opportunistic-retransmission-and-penalisation",
        why_no_scenario="Linux 7.2 sends again only after timeouts, far less than a tenth of all segments",
    ),
    _reason(
        key="early-retransmission",
        title="What is late is sent again",
        needs=("counters",),
        recognise=_find_early_retransmission,
        sentence="{host} sent {count} segments again on another subflow, about as many as waited for earlier data "
        "({queued}): they were late, and not lost",
        cure="Linux 5.15 or later, whose timer for this follows the slower subflow; else see which path is late",
        confirm="MPTCPRetrans and OFOQueue grow together",
        explanation="The timer of MPTCP's own retransmissions was as short as the faster path's timeout.",
        page="schedulers.md#opportunistic-retransmission-and-penalisation",
        why_no_scenario="it needs a kernel before 5.15",
        after=("reinjections",),
    ),
    _reason(
        key="bbr-over-long-paths",
        title="BBR over long paths",
        needs=("subflows",),
        recognise=_find_bbr,
        sentence="the subflows use BBR over paths with a round trip of {rtt} ms: where queues are shorter than that, "
        "it sends far more again than CUBIC does, and the sockets need more memory",
        cure="compare with CUBIC (`sysctl -w net.ipv4.tcp_congestion_control=cubic`), and raise the maxima of "
        "net.ipv4.tcp_rmem, tcp_wmem and tcp_mem",
        confirm="the same transfer with CUBIC is faster",
        explanation="BBR has up to twice under way of what fits on the path, whatever is lost, and all subflows wait "
        "for what one of them has to send again. Over two paths of 100 Mbit/s with 150 ms and queues of 50 ms, BBR "
        "sends 6 to 7 % again in the lab, and CUBIC 0.3 %. With memory enough, both carry the same there (157 and 163 "
        "Mbit/s, Linux 6.1 to 7.2); where sockets are short of memory, BBR falls to 73.",
        page="machine.md#what-all-hosts-of-a-lab-share",
    ),
    _reason(
        key="application-slow",
        title="The application has nothing to send",
        needs=("subflows",),
        recognise=_application_slow,
        sentence="the subflows had something to send for {percent} % of the time only: the application is the limit",
        cure="see what the application waits for",
        confirm="busy in `ss -ti` grows slower than time",
        explanation="busy_time counts the time in which a socket had unacknowledged or unsent data.",
        page="workloads.md",
    ),
    _reason(
        key="short-transfer",
        title="The transfer ended in slow start",
        needs=("expectations", "subflows"),
        recognise=_too_short_for_rate,
        sentence="the transfer took {length} s, a few round trips, of which slow start takes most",
        cure="measure longer, or with more data",
        confirm="the rate over time still grows at the end",
        explanation="A window doubles each round trip from 10 segments on, on each path for itself.",
        page="workloads.md#short-flows",
    ),
    _reason(
        key="late-window",
        title="A late subflow has a small window",
        needs=("subflows",),
        recognise=_late_window,
        sentence="the subflow on {path} joined late and was limited by a receive window of {window} kB: mainline does "
        "not enlarge the buffer of a subflow that joins after the connection's has grown",
        cure="a larger default in tcp_rmem helps",
        confirm="the same with a default of 512 KiB",
        explanation="Mainline enlarges the receive buffers of subflows when it enlarges the connection's "
        "(mptcp_rcv_space_adjust() in net/mptcp/protocol.c). A subflow that joins afterwards has the default of "
        "tcp_rmem until the connection's buffer grows again, which may be never.",
        page="path-management.md#a-subflow-that-comes-late",
        is_noted=False,
    ),
)
