# SPDX-License-Identifier: MIT
"""A file's time, divided by captures: from its first SYN to its last data on the wire, and the rest.

The rest is what passes before the first packet (the program starts) and after the last (it sees the end, and exits). On
the wire, the beginning is apart: the server starts the program that reads only when the connection is there.
"""

from __future__ import annotations

import json
from pathlib import Path

from validation.fidelity import forms, sides

from mptcplab import api
from mptcplab.capture.packet import read_packets
from mptcplab.recording.record import Recording
from mptcplab.scenario.load import SweepPoint
from mptcplab.scenario.record import Capture

_EXAMPLE, _WORKLOAD, _CLIENT = "transfer", "bulk", "client"
_LAB, _STOCK = "virtual-7.2-burst", "stock-7.2-burst"
#: Links by which the client reaches the server.
_LINKS = ("access1", "access2")
_SYN = 2
#: By then the server's program runs, and slow start is over.
_BEGINNING_BYTES = 10**6
#: By side, the parts of each seed's time in milliseconds.
Parts = dict[str, list[dict[str, float]]]


def run_wire(out: Path, *, repeats: int) -> None:
    """Run and divide transfers on both sides; recorded runs are not repeated."""
    form = forms.form_of(_EXAMPLE, forms.files()[_EXAMPLE], sides.SIDES[sides.REFERENCE].engine)
    parts = {side: _parts(form, side, out / "wire" / side, repeats) for side in (_LAB, _STOCK)}
    _file(out).write_text(json.dumps(parts, indent=1) + "\n")


def gather_wire(out: Path) -> Parts:
    """Return what was found; empty before that."""
    parts: Parts = json.loads(_file(out).read_text()) if _file(out).exists() else {}
    return parts


def _file(out: Path) -> Path:
    return out / "wire" / "parts.json"


def _parts(form: forms.Form, side: str, folder: Path, repeats: int) -> list[dict[str, float]]:
    """:raises LabError: if a run fails."""
    points = [_with_capture(point) for point in forms.changed_points(form, sides.SIDES[side].adapt)[-1:]]
    runs = forms.runs_of(points, repeats)
    done = api.execute_runs(runs, folder, jobs=1, engine=sides.SIDES[side].engine)
    return [parts_of(completed.folder) for completed in done if completed.folder is not None]


def _with_capture(point: SweepPoint) -> SweepPoint:
    captures = tuple(Capture(node=_CLIENT, link=link) for link in _LINKS)
    record = point.scenario.record.model_copy(update={"captures": captures})
    return SweepPoint(point.settings, point.scenario.model_copy(update={"record": record}))


def parts_of(folder: Path) -> dict[str, float]:
    """Return the time of the client's program and its parts in milliseconds; only the client sends data."""
    program = Recording(folder).program(f"{_WORKLOAD}.{_CLIENT}")
    whole = program["end_ns"] - program["start_ns"]
    instants: dict[str, int] = {}
    sent = 0
    for packet in read_packets([folder / "captures" / f"{_CLIENT}-{link}.pcap" for link in _LINKS]):
        if packet.flags & _SYN:
            instants.setdefault("syn", packet.time_ns)
        if packet.length:
            sent += packet.length
            instants["last"] = packet.time_ns
        if sent >= _BEGINNING_BYTES:
            instants.setdefault("begun", packet.time_ns)
    wire = instants["last"] - instants["syn"]
    beginning = instants["begun"] - instants["syn"]
    parts = {"whole": whole, "rest": whole - wire, "wire": wire, "beginning": beginning, "bulk": wire - beginning}
    return {key: value / 1e6 for key, value in parts.items()}
