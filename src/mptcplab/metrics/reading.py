# SPDX-License-Identifier: MIT
"""What the programs of a workload say that they did: goodput, duration, and figures of their kind."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mptcplab.errors import LabError
from mptcplab.metrics.ends import ends_of_workload
from mptcplab.metrics.figures import percentiles
from mptcplab.metrics.paced import call_figures, messages, stream_figures
from mptcplab.recording.record import Recording
from mptcplab.units import Duration

#: Where the kind of an event stands in a line of ``flow``: {"event":"interval".
_HEAD = 24
_NS = 1e9
_MS = 1e6


@dataclass(frozen=True)
class Reading:
    """Goodput in bit/s, duration in s, and :data:`mptcplab.metrics.figures.FIGURES` by name."""

    goodput_bps: float
    duration_s: float
    figures: Mapping[str, float] = field(default_factory=dict)


def read(recording: Recording, name: str, described: Mapping[str, Any]) -> Reading:
    """The reading of one workload. :raises LabError: when the output of its programs is broken."""
    return _READERS[described["kind"]](recording, name, described)


def events(recording: Recording, program: str, kind: str) -> list[dict[str, Any]]:
    """Events of one kind, which a line begins with: the many samples are tables already and are passed over."""
    lines = recording.output(program).splitlines()
    return [json.loads(line) for line in lines if f'"{kind}"' in line[:_HEAD]]


def _read_flow(recording: Recording, name: str, described: Mapping[str, Any]) -> Reading:
    client, server = f"{name}.client", f"{name}.server"
    receiver = client if described["direction"] == "download" else server
    ends = {program: events(recording, program, "end") for program in (client, server)}
    starts = events(recording, client, "start")
    connect_ns = {event["conn"]: event["connect_ns"] for event in ends[client]}
    began = {event["conn"]: event["t_ns"] - connect_ns[event["conn"]] for event in starts}
    started = min(began.values())
    received = sum(event["bytes"] for event in ends[receiver])
    finished = max(event["last_ns"] or started for event in ends[receiver])
    if described["checksum"]:
        _compare_checksums(ends[client], ends[server], name)
    elapsed = (finished - started) / _NS
    goodput = _goodput_bps(received, elapsed, name)
    sender = server if receiver == client else client
    figures = {**_sent(ends[sender]), **_completions(recording, ends, began, described, name)}
    return Reading(goodput, elapsed, figures)


def _sent(ends: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the rate at which programs wrote to their sockets, in Mbit/s, as iperf 2's client reports it.

    The bytes that the kernel took, over the time from the first established connection to the end of writing. Nothing
    if a connection ended before its sender had written all, or if writing took no time.
    """
    firsts = [one["first_ns"] for one in ends if one.get("first_ns") is not None]
    lasts = [one["last_ns"] for one in ends if one.get("last_ns") is not None]
    if not ends or not len(firsts) == len(lasts) == len(ends):
        return {}
    elapsed_s = (max(lasts) - min(firsts)) / _NS
    return {"sent_mbps": 8 * sum(one["bytes"] for one in ends) / elapsed_s / 1e6} if elapsed_s > 0 else {}


def _goodput_bps(received: int, elapsed_s: float, name: str) -> float:
    """Return the mean rate. :raises LabError: when data took no time, so that there is none."""
    if not received:
        return 0.0
    if not elapsed_s:
        hint = "give a link on its path a delay or a rate: nothing else takes virtual time"
        raise LabError(f"{name}: its data took no time, so it has no goodput", hint=hint)
    return 8 * received / elapsed_s


def _completions(
    recording: Recording,
    ends: Mapping[str, list[dict[str, Any]]],
    began: Mapping[int, int],
    described: Mapping[str, Any],
    name: str,
) -> dict[str, float]:
    """How long each of several connections of a given size took, from its SYN to its last byte."""
    if described.get("size") is None or described.get("connections", 1) < 2:
        return {}
    client, server = f"{name}.client", f"{name}.server"
    if described["direction"] == "download":
        last = {event["conn"]: event["last_ns"] for event in ends[client]}
    else:
        numbers = {event["conn"]: event["client_conn"] for event in events(recording, server, "start")}
        last = {numbers[event["conn"]]: event["last_ns"] for event in ends[server]}
    times = [(at - began[conn]) / _NS for conn, at in last.items() if at and conn in began]
    return completion_figures(times)


def completion_figures(times_s: list[float]) -> dict[str, float]:
    """Mean and percentiles of how long flows took."""
    if not times_s:
        return {}
    mean = sum(times_s) / len(times_s)
    return {"completion_mean_s": mean, **percentiles(times_s, "completion", "s", (50, 95, 99))}


def _compare_checksums(sent: list[dict[str, Any]], received: list[dict[str, Any]], name: str) -> None:
    if sorted(event["checksum"] for event in sent) != sorted(event["checksum"] for event in received):
        hint = "a middlebox with `damage` does this; without one it is a bug of the kernel or of `flow`"
        raise LabError(f"{name}: the payload arrived damaged", hint=hint)


def _read_iperf3(recording: Recording, name: str, _described: Mapping[str, Any]) -> Reading:
    try:
        report = json.loads(recording.output(f"{name}.client"))
        total = report["end"]["sum_received"]
        return Reading(float(total["bits_per_second"]), float(total["seconds"]))
    except (ValueError, KeyError) as error:
        raise LabError(f"{name}: the report of iperf3 cannot be read", hint=f"see out/{name}.client.out") from error


def _read_transfer(recording: Recording, name: str, _described: Mapping[str, Any]) -> Reading:
    sums = {side: _stream(recording, f"{name}.{side}") for side in ("client", "server")}
    if sums["client"] != sums["server"]:
        hint = f"see out/{name}.client.err and out/{name}.server.err"
        raise LabError(f"{name}: what arrived is not what was sent", hint=hint)
    client = recording.program(f"{name}.client")
    elapsed = (client["end_ns"] - client["start_ns"]) / _NS
    return Reading(_goodput_bps(int(sums["server"]["bytes"]), elapsed, name), elapsed)


def _stream(recording: Recording, program: str) -> dict[str, Any]:
    return _streams(recording, program)[0]


def _streams(recording: Recording, program: str) -> list[dict[str, Any]]:
    """Bytes and checksums that ``flow pattern`` and ``flow sum`` have told. :raises LabError: for none."""
    found = _json_lines(recording, program, '{"event":"stream"')
    if not found:
        raise LabError(f"{program} reported no checksum", hint=f"see out/{program}.err")
    return found


def _json_lines(recording: Recording, program: str, head: str) -> list[dict[str, Any]]:
    lines = recording.output(program, "err").splitlines()
    return [json.loads(line) for line in lines if line.startswith(head)]


def _read_download(recording: Recording, name: str, described: Mapping[str, Any]) -> Reading:
    """Every file has to be what the server has; the time is that of ``curl``, from its first connection on."""
    (served,) = _streams(recording, f"{name}.server")
    fetched = _streams(recording, f"{name}.client")
    if fetched != [served] * described["files"]:
        said = [line for line in recording.output(f"{name}.client", "err").splitlines() if line.startswith("curl:")]
        hint = f"{said[0]} (see out/{name}.client.err)" if said else f"see out/{name}.client.err"
        raise LabError(f"{name}: what arrived is not what was served", hint=hint)
    client = recording.program(f"{name}.client")
    elapsed = (client["end_ns"] - client["start_ns"]) / _NS
    received = sum(int(one["bytes"]) for one in fetched)
    times = [float(one["time_total"]) for one in _json_lines(recording, f"{name}.client", '{"event":"curl"')]
    figures = completion_figures(times) if len(times) > 1 else {}
    return Reading(_goodput_bps(received, elapsed, name), elapsed, figures)


def _read_paced(recording: Recording, name: str, described: Mapping[str, Any]) -> Reading:
    ends = ends_of_workload(name, described)
    assert ends.sending is not None
    assert ends.receiving is not None
    (sender,), received = events(recording, ends.sending, "end"), events(recording, ends.receiving, "end")
    if not received and events(recording, ends.receiving, "start"):
        raise LabError(f"{name}: the receiver's report has no end", hint=f"see out/{ends.receiving}.out")
    # A receiver that says nothing at all has got nothing.
    told: Mapping[str, Any] = received[0] if received else {"bytes": 0, "messages": 0, "last_ns": None}
    began = int(sender["first_ns"])
    finished = int(told["last_ns"] or began)
    sent = int(sender["messages"])
    # The last message's turn ends with the duration: a stream that lost nothing has the rate that was asked for.
    duration = int(Duration.parse(described["duration"]))
    elapsed = max(duration, finished - began) / _NS
    figures = _paced_figures(recording, ends.receiving, described, sent, told)
    return Reading(8 * int(told["bytes"]) / elapsed, elapsed, figures)


def _paced_figures(
    recording: Recording, receiver: str, described: Mapping[str, Any], sent: int, told: Mapping[str, Any]
) -> dict[str, float]:
    if described["kind"] == "udp":
        count = told["messages"]
        figures = {"lost_percent": 100 * max(0.0, 1 - count / sent)} if sent else {}
        return figures | ({"delay_mean_ms": told["delay_sum_ns"] / count / _MS} if count else {})
    arrived = messages(events(recording, receiver, "packets"))
    if described["kind"] == "stream":
        return stream_figures(arrived, sent, int(Duration.parse(described["deadline"])) / _MS)
    times = (int(Duration.parse(described[key])) / _MS for key in ("playout", "interval"))
    return call_figures(arrived, sent, *times)


def _read_answers(recording: Recording, name: str, described: Mapping[str, Any]) -> Reading:
    """Latency of requests, or completion of flows, both to the last byte of the response."""
    client = f"{name}.client"
    answers = events(recording, client, "request")
    if not answers:
        raise LabError(f"{name}: no request was answered", hint=f"see out/{client}.err")
    times = [(one["t_ns"] - one["asked_ns"]) / _NS for one in answers]
    elapsed = (max(one["t_ns"] for one in answers) - min(one["asked_ns"] for one in answers)) / _NS
    goodput = _goodput_bps(sum(one["response"] for one in answers), elapsed, name)
    if described["kind"] == "web":
        return Reading(goodput, elapsed, {"flows": float(len(times)), **completion_figures(times)})
    latencies = [1e3 * time for time in times]
    figures = {"requests": float(len(times)), "latency_max_ms": max(latencies)}
    return Reading(goodput, elapsed, figures | percentiles(latencies, "latency", "ms", (50, 95, 99)))


_READERS = {
    "stream": _read_paced,
    "voip": _read_paced,
    "udp": _read_paced,
    "requests": _read_answers,
    "web": _read_answers,
    "flow": _read_flow,
    "iperf3": _read_iperf3,
    "transfer": _read_transfer,
    "http": _read_download,
    "ftp": _read_download,
}
