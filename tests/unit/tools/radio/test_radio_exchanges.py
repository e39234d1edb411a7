# SPDX-License-Identifier: MIT
"""The exchanges of the medium without a kernel: legacy modes are as they always were, block ack sessions are right."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[4]
SOURCE = ROOT / "tools" / "radio"
#: What the harness replaces: the kernel, and the program around the medium.
LEFT_OUT = {"main.c", "hwsim.c", "netlink.c", "watch.c", "help.c"}
#: Hidden and far stations, a radio that moves, a radio that is off for a while, and a radio that loses power.
NETWORK = """
seed {seed}
shadowing-db 4
basic-rates {basic}
radio ap 02:00:00:00:00:01 at 0 0
radio s1 02:00:00:00:00:02 at {s1} 0
radio s2 02:00:00:00:00:03 at {s2[0]} 0
move s2 1 {s2[1]} 0
move s2 3 {s2[2]} 0
radio s3 02:00:00:00:00:04 at {s3} 0 {s3_is}
radio s4 02:00:00:00:00:05 at 3 4
off s4 1.5
on s4 2
power s1 2.5 10
"""
B = {"basic": "1 2 11", "s1": 20, "s2": (-90, -60, -110), "s3": 85, "s3_is": "dsss-only"}
G = {"basic": "6 12 24", "s1": 12, "s2": (-30, -25, -60), "s3": 24, "s3_is": ""}
NUMBERS = 4096
WINDOW = {"s1": 16}


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("harness") / "harness"
    words = ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-std=gnu11", "-D_GNU_SOURCE", "-ffp-contract=off"]
    parts = [path for path in sorted(SOURCE.glob("*.c")) if path.name not in LEFT_OUT]
    words += [f"-I{SOURCE}", "-o", str(program), str(Path(__file__).with_name("harness.c")), *map(str, parts), "-lm"]
    subprocess.run(words, check=True)
    return program


def run(harness: Path, folder: Path, mode: str, network: dict[str, Any], seed: int) -> tuple[str, dict[str, Any]]:
    """Return the log of four seconds, and the counters."""
    (folder / "medium.conf").write_text(NETWORK.format(seed=seed, **network))
    words = [str(harness), "medium.conf", "4", "log", "stats.json", mode]
    subprocess.run(words, cwd=folder, check=True, timeout=60)
    return (folder / "log").read_text(), json.loads((folder / "stats.json").read_text())["radios"]


@pytest.mark.parametrize(
    ("mode", "network", "lines", "digest"),
    [
        ("b", B, 6818, "01cd52c2738c11dc9cccf952e0a485c09b55b266e8c74c3bd6dd5a077ecc7af1"),
        ("g", G, 41708, "9ab73191973b70438a2162f13cc7c126a32af77843d84c73b8e2e0353b4ff466"),
    ],
    ids=["b", "g"],
)
def test_legacy_modes_are_as_before_802_11n(
    harness: Path, tmp_path: Path, mode: str, network: dict[str, Any], lines: int, digest: str
) -> None:
    """Every frame, instant, signal and draw: these logs were written before the medium knew aggregates."""
    log, radios = run(harness, tmp_path, mode, network, 7)
    assert len(log.splitlines()) == lines
    assert hashlib.sha256(log.encode()).hexdigest() == digest
    assert all(radio["aggregates"] == radio["block_acks"] == 0 for radio in radios.values())


@dataclass
class Session:
    """The state of a sender and a receiver for the frames from one to the other."""

    window: int
    oldest: int = 0
    over: dict[int, bool] = field(default_factory=dict)
    """Frames that were reported, and whether as acknowledged."""
    delivered: set[int] = field(default_factory=set)
    head: int = 0
    """The frame that mac80211's receiver waits for; earlier ones are dropped."""
    buffered: set[int] = field(default_factory=set)
    passed: list[int] = field(default_factory=list)
    """The frames that it passed on, in this order."""

    def number(self, low: int) -> int:
        """Return a count of frames for a number of 12 bits, near the frames that are on the way."""
        return self.oldest + (low - self.oldest + NUMBERS // 2) % NUMBERS - NUMBERS // 2

    def move(self, head: int) -> None:
        """Pass on what is buffered before ``head``, and what then follows without a gap."""
        while self.head < head or self.head in self.buffered:
            if self.head in self.buffered:
                self.buffered.remove(self.head)
                self.passed.append(self.head)
            self.head += 1

    def receive(self, number: int) -> None:
        """As mac80211's reordering does (``ieee80211_sta_manage_reorder_buf``)."""
        self.delivered.add(number)
        if number < self.head or number in self.buffered:
            return
        if number >= self.head + 64:
            self.move(number - 64 + 1)
        self.buffered.add(number)
        self.move(self.head)

    def report(self, number: int, *, acked: bool) -> None:
        assert number not in self.over, "reported once"
        assert not acked or number in self.delivered, "an acknowledged frame was delivered"
        self.over[number] = acked
        while self.oldest in self.over:
            self.oldest += 1


def replay(log: str) -> dict[tuple[str, str], Session]:
    """Check each line of a log against the state of its session."""
    sessions: defaultdict[tuple[str, str], Session] = defaultdict(lambda: Session(64))
    sender, acked = "", False
    for line in log.splitlines():
        words = line.split()
        if (match := re.match(r"> (\w+) \d+ from (\w+), .*(number|request) (\d+)$", line)) is not None:
            to, source, what, low = match[1], match[2], match[3], int(match[4])
            session = sessions[source, to]
            session.window = WINDOW.get(to, 64)
            number = session.number(low)
            if what == "request":
                session.move(number)
                continue
            assert session.oldest <= number < session.oldest + session.window, line
            session.receive(number)
        elif words[0] == "<":
            sender, acked = words[1], words[3] == "acked"
        elif words[0] == "=":
            session = sessions[sender, words[1]]
            number = session.number(int(words[2]))
            session.report(number, acked=acked)
            if "moves" in words:
                assert session.oldest > number, "the receiver is told to forget only frames that are over"
    return dict(sessions)


@pytest.mark.parametrize("seed", range(1, 9))
def test_block_ack_sessions_keep_their_promises(harness: Path, tmp_path: Path, seed: int) -> None:
    """With collisions, errors, a station that is away for a while, two windows, and frames that try other rates."""
    log, radios = run(harness, tmp_path, "n", G, seed)
    sessions = replay(log)
    assert len(sessions) == 8
    for (source, to), session in sessions.items():
        acked = [number for number, fine in session.over.items() if fine]
        print(source, to, len(session.over), "reported,", len(acked), "acknowledged,", len(session.passed), "passed on")
        assert session.passed == sorted(set(session.passed)), "in order, each once"
        # What mac80211 drops although it was acknowledged would be lost without anybody knowing.
        waiting = session.buffered | {number for number in acked if number >= session.head}
        assert set(acked) <= set(session.passed) | waiting
    for name, radio in radios.items():
        aggregates = {int(size): count for size, count in radio["mpdus_by_aggregate"].items()}
        assert sum(aggregates.values()) == radio["aggregates"]
        assert sum(size * count for size, count in aggregates.items()) == radio["aggregated_mpdus"]
        assert min(aggregates) >= 2
        assert max(aggregates) <= 64
        assert radio["block_acks"] <= radio["attempts"], name
    assert sum(radio["block_acks"] for radio in radios.values()) > 500


@pytest.mark.parametrize("seed", [1, 2])
def test_reports_count_each_frame(harness: Path, tmp_path: Path, seed: int) -> None:
    """Rate control learns of as many acknowledged frames as there were, but for a few whose block ack was lost."""
    log, _ = run(harness, tmp_path, "n", G, seed)
    told = sum(int(words[3]) for line in log.splitlines() if (words := line.split())[0] == "=" and "of" in words)
    acked = sum(sum(session.over.values()) for session in replay(log).values())
    print(told, acked)
    assert 0.99 * acked <= told <= acked


def aggregates_of(log: str) -> list[tuple[float, int]]:
    """Return rate and bytes of each aggregate."""
    lines = [line.split() for line in log.splitlines() if " ampdu " in line]
    return [(float(words[4]), int(words[5])) for words in lines]


def test_aggregates_are_no_longer_than_4_ms(harness: Path, tmp_path: Path) -> None:
    """At the first rate of their table; repeated ones are at a slower rate, which the limit counts with."""
    log, _ = run(harness, tmp_path, "n", G, 1)
    sizes = aggregates_of(log)
    longest = max(36 + 8 * size / mbps for mbps, size in sizes)
    print(len(sizes), "aggregates, the longest of", longest, "us")
    # Among this number of aggregates, one is full to within a tenth of a frame of the mean size, which takes 100 us.
    assert 3900 < longest <= 4000
