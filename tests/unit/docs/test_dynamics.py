# SPDX-License-Identifier: MIT
"""Rates and waiting times over time, from samples whose answers are known."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.unit.manifests import manifest
from tools.docs.figures.dynamics import Rates, path_rates, path_waiting

from mptcplab.recording import samples
from mptcplab.recording.record import Recording

_SECOND_NS = 10**9
#: Bytes per second on the first line; the second carries twice as much.
_SPEED = 1000


def _make_recording(folder: Path, direction: str = "upload") -> Recording:
    """Two subflows for 4 s, sampled every 500 ms; the RTT is 40 ms, and 50 ms from 2 s on."""
    rows: list[samples.Row] = []
    upload = direction == "upload"
    for line in (1, 2):
        client, server = f"10.0.{line}.1:40000", f"10.0.{line + 2}.2:5001"
        for step in range(9):
            time_ns = step * _SECOND_NS // 2
            sent = line * _SPEED * step // 2
            for side, local, remote in (("client", client, server), ("server", server, client)):
                sends = (side == "client") == upload
                rows.append({
                    "time_ns": time_ns, "node": side, "program": f"bulk.{side}", "conn": 0, "local": local,
                    "remote": remote, "bytes_received": 0 if sends else sent, "data_segs_out": sent // 10,
                    "min_rtt_us": 40_000, "rtt_us": 40_000 if step < 4 else 50_000,
                })  # fmt: skip
    samples.write(rows, folder / "subflows.parquet")
    links = {f"10.0.{line}.1": f"access{line}" for line in (1, 2)} | {
        f"10.0.{line + 2}.2": f"link{line}" for line in (1, 2)
    }
    addresses = {address: {"node": "", "link": link} for address, link in links.items()}
    made = manifest({"bulk": {"kind": "flow", "reverse": not upload}}, addresses=addresses)
    (folder / "manifest.json").write_text(json.dumps(made))
    return Recording(folder)


@pytest.mark.parametrize(("direction", "paths"), [
    ("upload", ("access1>link1", "access2>link2")),
    ("download", ("link1>access1", "link2>access2")),
])  # fmt: skip
def test_rates_are_those_of_the_receiver(tmp_path: Path, direction: str, paths: tuple[str, str]) -> None:
    rates = path_rates(_make_recording(tmp_path, direction), "bulk")
    assert set(rates.by_path) == set(paths)
    assert rates.by_path[paths[0]].tolist() == [8 * _SPEED] * 4
    assert rates.mean(paths[1], 1, 3) == 16 * _SPEED


def test_steps_need_not_be_those_of_samples(tmp_path: Path) -> None:
    rates = path_rates(_make_recording(tmp_path), "bulk", step_s=0.8)
    assert rates.by_path["access1>link1"] == pytest.approx([8 * _SPEED] * 5)


def test_waiting_is_by_little(tmp_path: Path) -> None:
    """10 ms more than the least RTT, 100 and 200 segments in a second: one and two of them wait."""
    recording = _make_recording(tmp_path)
    waiting = path_waiting(recording, "bulk", 2, 4)
    assert [waiting[path].delay_s for path in ("access1>link1", "access2>link2")] == pytest.approx([0.01, 0.01])
    assert [waiting[path].packets for path in ("access1>link1", "access2>link2")] == pytest.approx([1, 2])
    assert path_waiting(recording, "bulk", 0, 1)["access1>link1"].packets == 0


def test_until() -> None:
    rates = Rates(0.5, {"a": np.array([8.0, 8.0, 3.0, 1.0, 4.0, 8.0])})
    assert rates.time_until("a", 0, 8) == 0.5, "the end of the first step"
    assert rates.time_until("a", 0.5, 3, falling=True) == 1.0
    assert rates.time_until("a", 1, 8) == 2.0
    assert rates.time_until("a", 0, 9) is None
