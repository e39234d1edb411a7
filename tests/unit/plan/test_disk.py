# SPDX-License-Identifier: MIT
"""What recordings are likely to take on disk: within a factor of three of what they did take."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from mptcplab.campaign.sweep import space_warning
from mptcplab.metrics.values import size_text
from mptcplab.plan.estimate import estimate_bytes
from mptcplab.scenario.load import load

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples"
#: Bytes of the recording of one run of each point, all added up.
MEASURED = {
    "ride/1-two-paths": 641_024,
    "ride/2-tcp-beside": 1_263_169,
    "ride/3-unequal-paths": 2_287_473,
    "ride/4-presets": 3_235_573,
    "ride/5-algorithms": 6_904_721,
    "ride/6-failure": 9_564_315,
    "ride/7-ride": 13_677_691,
    "ride/8-passengers": 31_216_687,
    "gateways/ten-to-one": 1_690_765,
    "gateways/crowd": 9_370_101,
    "gateways/terminals": 1_881_381,
}


@pytest.mark.slow
@pytest.mark.parametrize("example", MEASURED)
def test_within_a_factor_of_three(example: str) -> None:
    points = load(EXAMPLES / f"{example}.toml").points
    estimated = sum(estimate_bytes(point.scenario) for point in points)
    assert 1 / 3 < estimated / MEASURED[example] < 3, f"{estimated:.0f} B foretold and {MEASURED[example]} B taken"


CAPTURED = 'record.captures=[{ node = "client", snaplen = "256 KiB" }]'


def test_a_capture_of_whole_packets_takes_what_is_transferred(tmp_path: Path) -> None:
    """10 s of 100 Mbit/s are 125 MB on the wire, of which the client sees all and a router's one link all, too."""
    file = tmp_path / "t.toml"
    file.write_text(
        'title = "t"\ntopology.preset = "direct"\ntransport.protocol = "tcp"\n'
        'links.link1 = { rate = "100 Mbit/s", delay = "5 ms" }\n'
        'workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "10 s" }\n'
    )
    without, captured = (
        estimate_bytes(load(file, overrides=settings).points[0].scenario) for settings in ((), (CAPTURED,))
    )
    print(f"{without:.0f} B without and {captured:.0f} B with a capture")
    assert captured - without == pytest.approx(125e6, rel=0.1)


def test_a_capture_of_loopback_takes_what_passes_it() -> None:
    """5.4 GB by a client to its own proxy are 3.7 million segments of 144 B and half as many ACKs of 96 B.

    Nothing passes the loopback interface of the other side.
    """
    file = EXAMPLES / "gateways" / "large-file.toml"
    sizes = [
        estimate_bytes(load(file, overrides=[f"record.captures={captures}"]).points[0].scenario)
        for captures in ("[]", '[{ node = "ue", link = "lo" }]', '[{ node = "magw", link = "lo" }]')
    ]
    print(sizes)
    assert sizes[1] - sizes[0] == pytest.approx(5.4e9 / 1448 * (144 + 96 / 2), rel=0.1)
    assert sizes[2] == sizes[0]


class _Usage(NamedTuple):
    free: int


def test_a_full_disk_is_foretold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = load(EXAMPLES / "ride" / "1-two-paths.toml")
    assert space_warning(experiment.runs, tmp_path / "results" / "new") is None
    monkeypatch.setattr(shutil, "disk_usage", lambda _: _Usage(100_000))
    warning = space_warning(experiment.runs, tmp_path / "results" / "new")
    assert warning is not None
    assert "has 100 kB free" in warning
    assert size_text(estimate_bytes(experiment.points[0].scenario)) in warning
