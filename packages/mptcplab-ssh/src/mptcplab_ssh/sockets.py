# SPDX-License-Identifier: MIT
"""Reads what `ss -tinO` and `tc -s -j qdisc` print into the rows of the sampler (tools/sampler).

The names and units are the kernel's; see tools/sampler/row.c and queues.c. `ss` leaves out values that are 0, or writes
them in units of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from mptcplab.steps import Queue

_STATES = {"ESTAB": 1, "FIN-WAIT-1": 4, "FIN-WAIT-2": 5, "CLOSE-WAIT": 8, "LAST-ACK": 9, "CLOSING": 11}
#: Words that are neither a value nor the name of a congestion control.
_WORDS = {"ts", "sack", "ecn", "ecnseen", "fastopen", "app_limited", "dctcp", "fallback_mode"}
_SS_MPTCP = "tcp-ulp-mptcp"
_TOKEN = re.compile(r"token:([0-9a-f]+)\(id:(\d+)\)/([0-9a-f]+)\(id:(\d+)\)")


def _parse_ms(text: str) -> int:
    return round(float(text) * 1000)


def _bps(text: str) -> int:
    """Return bytes per second of a rate, which `ss -n` prints in bits per second."""
    return int(float(text.removesuffix("bps")) // 8)


#: Values by the word in front of their colon: the names of the recording, in the order of their parts.
_VALUES: dict[str, tuple[tuple[str, Callable[[str], int]], ...]] = {
    "rto": (("rto_us", _parse_ms),),
    "rtt": (("rtt_us", _parse_ms), ("rttvar_us", _parse_ms)),
    "mss": (("snd_mss", int),),
    "cwnd": (("snd_cwnd", int),),
    "ssthresh": (("snd_ssthresh", int),),
    "unacked": (("unacked", int),),
    "lost": (("lost", int),),
    "rcv_space": (("rcv_space", int),),
    "bytes_sent": (("bytes_sent", int),),
    "bytes_retrans": (("bytes_retrans", int),),
    "bytes_acked": (("bytes_acked", int),),
    "bytes_received": (("bytes_received", int),),
    "segs_out": (("segs_out", int),),
    "segs_in": (("segs_in", int),),
    "notsent": (("notsent_bytes", int),),
    "minrtt": (("min_rtt_us", _parse_ms),),
}
_RATES = {"pacing_rate": "pacing_rate", "delivery_rate": "delivery_rate"}
_TIMES = {"busy": "busy_time_us", "rwnd_limited": "rwnd_limited_us", "sndbuf_limited": "sndbuf_limited_us"}
#: Values that `ss` leaves out if they are 0.
_ZERO = ("unacked", "lost", "total_retrans", "bytes_sent", "bytes_retrans", "bytes_acked", "bytes_received")
#: TCP_INFINITE_SSTHRESH, for which `ss` prints nothing.
_NO_THRESHOLD = 2147483647


@dataclass
class Samples:
    """What the sampler of one node printed: sockets and queues, with the instants there."""

    sockets: list[dict[str, Any]] = field(default_factory=list)
    queues: list[dict[str, Any]] = field(default_factory=list)


def parse_samples(text: str, *, node: str, queues: Sequence[Queue]) -> Samples:
    """Return the rows of a sampler's output; an incomplete end, where it was stopped, is left out."""
    sample = Samples()
    time_ns, device = 0, ""
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("@ ")]
    for line in lines[: starts[-1]] if starts else []:
        if line.startswith("@ "):
            time_ns, device = int(line.split()[1]), ""
        elif line.startswith("# "):
            device = line[2:]
        elif device and line.startswith("["):
            sample.queues += _queues(json.loads(line), device, time_ns, queues)
        elif line and not device:
            row = parse_socket(line)
            if row:
                sample.sockets.append({"time_ns": time_ns, "node": node, **row})
    return sample


def _queues(
    kinds: list[dict[str, Any]], device: str, time_ns: int, queues: Sequence[Queue]
) -> Iterator[dict[str, Any]]:
    for queue in queues:
        for kind in kinds:
            if queue.device == device and kind.get("handle") == f"{queue.handle:x}:":
                place = {key: getattr(queue, key) for key in ("node", "device", "link", "direction")}
                yield {
                    "time_ns": time_ns,
                    **place,
                    "bytes": kind["backlog"],
                    "packets": kind["qlen"],
                    "drops": kind["drops"],
                }


def parse_socket(line: str) -> dict[str, Any]:
    """Return one socket of `ss -tinOH`; nothing for a line of another form."""
    state, _, _, local, remote, *words = (*line.split(), "", "", "", "")[:]
    if state not in _STATES:
        return {}
    row: dict[str, Any] = {"local": _end(local), "remote": _end(remote), "state": _STATES[state], "protocol": "tcp"}
    row |= dict.fromkeys(_ZERO, 0) | {"snd_ssthresh": _NO_THRESHOLD}
    words = [word for word in words if word]
    for word, later in zip(words, [*words[1:], ""], strict=True):
        name, colon, value = word.partition(":")
        if name in _RATES and later.endswith("bps") and not colon:
            row[_RATES[name]] = _bps(later)
        elif name in _TIMES and colon:
            row[_TIMES[name]] = round(float(value.partition("ms")[0]) * 1000)
        elif name == "retrans" and colon:
            row["total_retrans"] = int(value.partition("/")[2])
        elif name in _VALUES and colon:
            for (key, convert), part in zip(_VALUES[name], value.split("/"), strict=False):
                row[key] = convert(part)
        elif not colon and "congestion" not in row and _is_control(word):
            row["congestion"] = word
    return row | _mptcp(line)


def _is_control(word: str) -> bool:
    return word not in _WORDS and re.fullmatch(r"[a-z][a-z0-9_]*", word) is not None


def _mptcp(line: str) -> dict[str, Any]:
    match = _TOKEN.search(line) if _SS_MPTCP in line else None
    if match is None:
        return {}
    # In the order of mptcp_info_print_subflow() of iproute2: the remote token, then ours.
    return {"protocol": "mptcp", "token": int(match[3], 16), "id_remote": int(match[2]), "id_local": int(match[4])}


def _end(text: str) -> str:
    """Return an address and port as the recording has them: without an interface, and IPv4 as such."""
    address, _, port = text.rpartition(":")
    address = re.sub(r"%[^\]]*", "", address)
    mapped = re.fullmatch(r"\[::ffff:([0-9.]+)\]", address)
    return f"{mapped[1] if mapped else address}:{port}"


def algorithms(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the congestion controls seen on each socket, as the sampler notes them (tools/sampler/watch.c)."""
    seen: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        known = {"local": row["local"], "remote": row["remote"], "congestion": [], "scheduler": []}
        noted = seen.setdefault((row["local"], row["remote"]), known)
        if row.get("congestion") and row["congestion"] not in noted["congestion"]:
            noted["congestion"].append(row["congestion"])
    return {"uncoupled": None, "sockets": [seen[ends] for ends in sorted(seen)]}
