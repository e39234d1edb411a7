# SPDX-License-Identifier: MIT
"""Changes that may help, tried on the twin, and the twin beside the observation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mptcplab.fit.lines import FRAME, format_rate, format_share, format_time
from mptcplab.fit.observation import Observation
from mptcplab.fit.twin import set_key
from mptcplab.lazy import pl
from mptcplab.metrics.manifest import read_addresses
from mptcplab.metrics.rows import RunResult
from mptcplab.metrics.subflows import ends_of, path_name
from mptcplab.recording.record import Recording
from mptcplab.scenario.overrides import override
from mptcplab.stats.differences import paired_difference
from mptcplab.stats.intervals import mean_interval

# Changes that may help, tried on the twin: which, and what they gained, with the certainty of each.
#
# Every change runs with the seeds of the unchanged twin, so that runs are compared in pairs. Many changes are compared
# at once: the intervals are as wide as needed for all of them to be right at the same time with 95 % (Bonferroni).

_SCHEDULERS = ("default", "roundrobin", "blest", "ecf", "redundant")
_CONTROLS = ("cubic", "bbr", "lia", "olia", "balia")
#: Buffers are tried at four times the size, and at this one if none is known.
_BUFFER_FACTOR, _BUFFER, _MAX_BUFFER = 4, 16 << 20, 64 << 20
_SIGNIFICANCE = 0.05
#: A gain below this share does not matter, however certain it is.
_NEGLIGIBLE = 0.01
_SEED = 1


@dataclass(frozen=True)
class Change:
    """A change of the twin: its words, and the keys of the scenario with their values. None removes a key."""

    words: str
    keys: tuple[tuple[str, Any], ...]

    def apply(self, tables: Mapping[str, Any]) -> dict[str, Any]:
        """Return plain tables with the change."""
        changed = dict(tables)
        for key, value in self.keys:
            changed = set_key(changed, key, value)
        return changed


@dataclass(frozen=True)
class Algorithms:
    """The names of the congestion controls and of the schedulers that a twin can have."""

    congestion_controls: Sequence[str]
    schedulers: Sequence[str]


def list_changes(observation: Observation, tables: Mapping[str, Any], algorithms: Algorithms) -> list[Change]:
    """Return single changes of the twin's plain ``tables``."""
    changes = [change for part in _parts(observation, tables, algorithms).values() for change in part]
    transport = tables["transport"]
    if transport["protocol"] == "mptcp":
        keys = (("transport.scheduler", None), ("transport.protocol", "tcp"))
        changes.append(Change("TCP over the first line instead of MPTCP", keys))
    elif len(observation.lines) > 1:
        changes.append(Change("MPTCP instead of TCP", (("transport.protocol", "mptcp"),)))
    changes += _backup_changes(observation, tables)
    return changes


def parse_change(text: str) -> Change:
    """Return the change of one key that ``KEY=VALUE`` describes. :raises InputError: if it has another form."""
    setting = override(text)
    return Change(f"{setting.name} {setting.value}", ((setting.name, setting.value),))


def _parts(observation: Observation, tables: Mapping[str, Any], algorithms: Algorithms) -> dict[str, list[Change]]:
    """Return the changes by what they change: changes of different parts can be combined."""
    transport = tables["transport"]
    now = {
        key: transport.get(key, default) for key, default in (("congestion_control", "cubic"), ("scheduler", "default"))
    }
    is_mptcp = transport["protocol"] == "mptcp"
    parts = {
        "congestion control": [
            Change(f"congestion control {name}", (("transport.congestion_control", name),))
            for name in _CONTROLS
            if name != now["congestion_control"] and name in algorithms.congestion_controls
        ],
        "scheduler": [
            Change(f"scheduler {name}", (("transport.scheduler", name),))
            for name in _SCHEDULERS
            if is_mptcp and len(observation.lines) > 1 and name != now["scheduler"] and name in algorithms.schedulers
        ],
        "buffers": [_buffers(transport)],
        "queue": [_fq_codel(observation), *_shorter_queues(observation)],
    }
    return {name: changes for name, changes in parts.items() if changes}


def _buffers(transport: Mapping[str, Any]) -> Change:
    keys = []
    for key, begin in (("tcp_rmem", 131072), ("tcp_wmem", 16384)):
        sizes = [int(text.split()[0]) for text in transport.get(key, ())] or [4096, begin, _BUFFER // _BUFFER_FACTOR]
        largest = min(max(sizes[2] * _BUFFER_FACTOR, _BUFFER), max(_MAX_BUFFER, sizes[2]))
        keys.append((f"transport.{key}", [f"{sizes[0]} B", f"{sizes[1]} B", f"{largest} B"]))
    return Change("larger buffers at both ends", tuple(keys))


def _directions(observation: Observation) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(observation.lines):
        yield number, f"links.link{number + 1}.{'forward' if line.sender_opens else 'backward'}"


def _fq_codel(observation: Observation) -> Change:
    keys = [(f"{direction}.discipline", "fq_codel") for _, direction in _directions(observation)]
    # Its queue counts packets: the default of the discipline.
    keys += [(f"{direction}.queue", "10240 packets") for _, direction in _directions(observation)]
    return Change("fq_codel at every bottleneck", tuple(keys))


def _shorter_queues(observation: Observation) -> list[Change]:
    changes = []
    for number, direction in _directions(observation):
        line = observation.lines[number]
        if line.queue.is_known and line.queue.value > 2 * max(line.rtt.value, 0.02):
            size = max(round(line.rate.value / 8 * max(line.rtt.value, 0.02)), 4 * FRAME)
            words = f"the queue of {line.name} as short as its round trip"
            changes.append(Change(words, ((f"{direction}.queue", f"{size} B"),)))
    return changes


def _backup_changes(observation: Observation, tables: Mapping[str, Any]) -> list[Change]:
    if tables["transport"]["protocol"] != "mptcp" or len(observation.lines) < 2:
        return []
    key = "hosts.server.transport.endpoints"
    if "hosts" in tables:
        return [Change("no line as backup", (("hosts", None),))]
    changes = []
    for number, line in enumerate(observation.lines[1:], start=2):
        endpoints = [
            {"link": f"link{place}", "flags": ["signal", *(["backup"] if place == number else [])]}
            for place in range(2, len(observation.lines) + 1)
        ]
        changes.append(Change(f"{line.name} as backup", ((key, endpoints),)))
    return changes


def sample_changes(
    observation: Observation, tables: Mapping[str, Any], algorithms: Algorithms, count: int
) -> list[Change]:
    """Return at most ``count`` combinations of changes, spread over all of them by a Latin hypercube."""
    from scipy.stats import qmc

    parts = list(_parts(observation, tables, algorithms).values())
    points = qmc.LatinHypercube(d=len(parts), seed=_SEED).random(count)
    combinations: dict[str, Change] = {}
    for point in points:
        chosen = []
        for share, part in zip(point, parts, strict=True):
            # The first place of each part means no change.
            place = int(share * (len(part) + 1))
            chosen += [part[place - 1]] if place else []
        if len(chosen) > 1:
            words = " and ".join(change.words for change in chosen)
            combinations[words] = Change(words, tuple(key for change in chosen for key in change.keys))
    return list(combinations.values())


@dataclass(frozen=True, kw_only=True)
class TransferOutcome:
    """One run: goodput in bit/s, and the median smoothed round trip of each path under load in s, by its link."""

    goodput_bps: float
    retransmitted: float
    shares: Mapping[str, float]
    rtt_s: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Advice:
    """The gain of one change: relative to the mean of the unchanged twin, with its simultaneous 95 % interval.

    ``rtt_change_s`` is the change of the round trip under load, as a mean over the lines.
    """

    words: str
    gain: float
    low: float
    high: float
    rtt_change_s: float | None
    n: int

    @property
    def verdict(self) -> str:
        """The verdict: ``helps``, ``harms``, or that there is no difference beyond chance, or none that matters."""
        if self.n < 2:
            return "one seed shows no chance: use more"
        if self.low <= 0 <= self.high:
            return "no difference beyond chance"
        if abs(self.gain) < _NEGLIGIBLE:
            return "no difference that matters"
        return "helps" if self.gain > 0 else "harms"

    def to_json(self) -> dict[str, object]:
        """Return the values and the verdict."""
        return {**vars(self), "verdict": self.verdict}


def rank(before: Sequence[TransferOutcome], tried: Mapping[str, Sequence[TransferOutcome]]) -> list[Advice]:
    """Return the changes by what they gained: what helps first, what harms last. Runs are in pairs by seed."""
    mean = sum(outcome.goodput_bps for outcome in before) / len(before)
    advice = []
    for words, after in tried.items():
        difference = paired_difference([o.goodput_bps for o in before], [o.goodput_bps for o in after])
        half = difference.half_width_at(_SIGNIFICANCE / len(tried)) or 0.0
        times = [(_mean_rtt(a), _mean_rtt(b)) for b, a in zip(before, after, strict=True)]
        rtt = [later - earlier for later, earlier in times if later is not None and earlier is not None]
        advice.append(
            Advice(
                words=words,
                gain=difference.mean / mean,
                low=(difference.mean - half) / mean,
                high=(difference.mean + half) / mean,
                rtt_change_s=sum(rtt) / len(rtt) if rtt else None,
                n=len(after),
            )
        )
    order = {"helps": 0, "harms": 2}
    return sorted(advice, key=lambda item: (order.get(item.verdict, 1), -item.gain))


def _mean_rtt(outcome: TransferOutcome) -> float | None:
    return sum(outcome.rtt_s.values()) / len(outcome.rtt_s) if outcome.rtt_s else None


# The twin beside the observation: what each run of the twin did, and a table of both.

_LINK = re.compile(r"\blink(\d+)\b")


@dataclass(frozen=True)
class ComparedQuantity:
    """One quantity: observed, and the mean of the twin's runs with the bounds of its 95 % interval.

    ``difference`` is the twin's less the observed value: a share of it, or as it is if the quantity is a share.
    """

    quantity: str
    observed: float
    twin: float
    low: float
    high: float
    difference: float
    is_share: bool
    format: Callable[[float], str]

    def to_json(self) -> dict[str, object]:
        """Return the values in the unit of the quantity: bit/s, s, or a share."""
        return {
            "quantity": self.quantity,
            "observed": float(self.observed),
            "twin": self.twin,
            "low": self.low,
            "high": self.high,
            "difference": float(self.difference),
        }


def outcome_of(result: RunResult, recording: Recording) -> TransferOutcome:
    """Return what one run of the twin did: its only workload is the transfer."""
    measured = result.measured[0]
    ends = ends_of(recording)[0]
    sockets = measured.sockets
    shares: dict[str, float] = {}
    for path, share in sockets.shares.items():
        shares[_line_name(path)] = shares.get(_line_name(path), 0.0) + share
    return TransferOutcome(
        goodput_bps=measured.goodput_bps,
        retransmitted=(sockets.retransmitted_bytes or 0) / max(sockets.sent_bytes or 0, 1),
        shares=shares,
        rtt_s=_round_trips(recording, ends.sender),
    )


def _round_trips(recording: Recording, sender: str) -> dict[str, float]:
    """Return the median smoothed round trip of each line, of the sender's samples while it sent."""
    frame = recording.subflows
    if not frame.height or "rtt_us" not in frame.columns:
        return {}
    frame = frame.filter((pl.col("node") == sender) & (pl.col("bytes_acked") > 0) & (pl.col("rtt_us") > 0))
    addresses = read_addresses(recording)
    times: dict[str, list[float]] = {}
    for local, remote, rtt_us in frame.select("local", "remote", "rtt_us").iter_rows():
        times.setdefault(_line_name(path_name(remote, local, addresses)), []).append(rtt_us / 1e6)
    return {name: sorted(values)[len(values) // 2] for name, values in times.items()}


def _line_name(path: str) -> str:
    """Return the name of a twin's line by the name of a path, such as ``access1>link1``."""
    match = _LINK.search(path)
    return f"line{match[1]}" if match else path


def compare(observation: Observation, outcomes: Sequence[TransferOutcome]) -> list[ComparedQuantity]:
    """Return what was observed beside the runs of the twin; empty if no transfer was observed."""
    transfer = observation.transfer
    if transfer is None or not outcomes:
        return []
    # The twin's lines are numbered in the order of the observation, whatever their names are.
    names = {line.name: f"line{number}" for number, line in enumerate(observation.lines, start=1)}

    def row(
        quantity: str,
        observed: float,
        values: Sequence[float],
        format_value: Callable[[float], str],
        *,
        is_share: bool = False,
    ) -> ComparedQuantity:
        interval = mean_interval(values)
        difference = interval.mean - observed
        if not is_share:
            difference /= observed
        return ComparedQuantity(
            quantity, observed, interval.mean, interval.low, interval.high, difference, is_share, format_value
        )

    rows = [row("goodput", transfer.goodput_bps, [outcome.goodput_bps for outcome in outcomes], format_rate)]
    for name, observed in transfer.rtt_s.items():
        values = [outcome.rtt_s[names[name]] for outcome in outcomes if names[name] in outcome.rtt_s]
        rows += [row(f"round trip under load, {name}", observed, values, format_time)] if values else []
    for name, observed in transfer.shares.items():
        values = [outcome.shares.get(names[name], 0.0) for outcome in outcomes]
        rows.append(row(f"share of {name}", observed, values, format_share, is_share=True))
    values = [outcome.retransmitted for outcome in outcomes]
    rows.append(row("retransmitted", transfer.retransmitted, values, format_share, is_share=True))
    return rows
