# SPDX-License-Identifier: MIT
"""Connections survive what a random schedule does to their paths, and end when all paths have gone for good.

The quick form has 250 events of two of three seeds, in turn, so that all schedulers together meet each seed with either
path manager. ``EVENT_SEEDS=100 EVENTS=1000 pytest tests/lab/mptcp/test_random_events.py`` is the full
form, which takes a few minutes for each path manager and scheduler.
"""

from __future__ import annotations

import json
import os
import time

import pytest
from tests.lab.bench import Bench, client, note, server
from tests.lab.mptcp.test_schedulers import ALL, OURS
from tests.lab.schedules import Schedule, schedule

from mptcplab.errors import LabError
from mptcplab.recording.record import Recording

SEEDS = int(os.environ.get("EVENT_SEEDS", "3"))
EVENTS = int(os.environ.get("EVENTS", "250"))
#: Nothing that is sent in the last second may take longer than TCP's longest wait for a retransmission (TCP_RTO_MAX),
#: and once more, since the first retransmission may meet the last of a queue of half a minute.
LATE_S = 240
#: tcp_retries2 = 15 gives up after 924.6 s at the least of retransmission timers; the kernel ends a connection without
#: subflows after 60 s (net.mptcp.close_timeout), and the path manager tries for 60 s more. The rest is room for timers
#: that begin longer than at the least, at round trips of up to 0.2 s.
NEVER_LONGER_S = 1200

#: Everything happens to connections with the path manager of the lab. The kernel's opens no subflow again that was
#: closed, so that with it addresses stay where they are.
KINDS = {
    "userspace": ("silent", "carrier", "interface", "address", "restore", "change"),
    "kernel": ("silent", "carrier", "interface", "restore", "change"),
}

#: One for each seed, in turn.
CONGESTION_CONTROLS = ("cubic", "lia", "olia", "balia", "wvegas")

SCENARIO = """
[topology]
preset = "disjoint-paths"

[links.link1]
rate = "4 Mbit/s"
delay = "10 ms"

[links.link2]
rate = "2 Mbit/s"
delay = "30 ms"

[transport]
path_manager = "{manager}"
scheduler = "{scheduler}"
sysctl = {{ "net.mptcp.scheduler_opportunistic" = {opportunistic} }}
congestion_control = "{control}"

[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
reverse = {reverse}
{goal}
checksum = true
timeout = "{timeout} ms"

{events}
"""


def _scenario(made: Schedule, *, opportunistic: int = 0, **keys: str) -> str:
    last_ms = made.end_ms + 1000
    keys["opportunistic"] = str(opportunistic)
    return SCENARIO.format(goal=f'duration = "{last_ms} ms"', timeout=last_ms + 1000 * LATE_S, events=made.toml, **keys)


def _ends(recording: Recording) -> dict[str, dict[str, object]]:
    """What both programs said last of their connection."""
    ends = {}
    for side in ("client", "server"):
        lines = [json.loads(line) for line in recording.output(f"bulk.{side}").splitlines()]
        ends[side] = next(line for line in lines if line["event"] == "end")
    return ends


def _transfer(
    bench: Bench, made: Schedule, seed: int, *overrides: str, opportunistic: int = 0, **keys: str
) -> Recording:
    """A connection through this schedule, in one direction or the other, of which every byte arrives."""
    reverse = "false" if seed % 2 else "true"
    text = _scenario(made, opportunistic=opportunistic, reverse=reverse, **keys)
    (recording,) = bench.record(text, *overrides, seed=seed)
    ends = _ends(recording)
    assert ends["client"]["bytes"] == ends["server"]["bytes"], f"seed {seed}: {ends}"
    assert ends["client"]["checksum"] == ends["server"]["checksum"] != "", f"seed {seed}: {ends}"
    happened = recording.events
    assert happened.height == len(made.events), f"seed {seed}: {happened.height} of {len(made.events)} events"
    return recording


@pytest.mark.parametrize("manager", ["userspace", "kernel"])
@ALL
def test_survives_random_events(bench: Bench, scheduler: str, manager: str) -> None:
    _survives(bench, scheduler, manager)


@pytest.mark.parametrize("manager", ["userspace", "kernel"])
@pytest.mark.parametrize("scheduler", ["default", "minrtt"])
def test_survives_random_events_with_retransmission_and_penalties(bench: Bench, scheduler: str, manager: str) -> None:
    """Both opportunistic mechanisms on, and a receive buffer that a second of the two paths fills."""
    retransmitted = _survives(bench, scheduler, manager, opportunistic=3, buffer="100 kB")
    # Six seeds: 1 to 109 with minrtt, 61 to 341 with default. Without any, this would be the test above.
    assert retransmitted >= len(_seeds(scheduler, manager)), retransmitted


def _seeds(scheduler: str, manager: str) -> list[int]:
    """Return all seeds that were asked for, or else all but one of the three."""
    all_seeds = range(1, SEEDS + 1)
    if "EVENT_SEEDS" in os.environ:
        return list(all_seeds)
    left_out = 1 + (["default", *OURS].index(scheduler) + list(KINDS).index(manager)) % SEEDS
    return [seed for seed in all_seeds if seed != left_out]


def _survives(bench: Bench, scheduler: str, manager: str, *, opportunistic: int = 0, buffer: str = "") -> int:
    """Return how many segments were retransmitted opportunistically."""
    memory = [f'transport.tcp_rmem=["4 KiB", "{buffer}", "{buffer}"]'] if buffer else []
    retransmitted = 0
    began, latest_s, least_up, longest_ms = time.monotonic(), 0.0, 1.0, 0
    seeds = _seeds(scheduler, manager)
    for seed in seeds:
        made = schedule(seed, events=EVENTS, kinds=KINDS[manager])
        control = CONGESTION_CONTROLS[seed % len(CONGESTION_CONTROLS)]
        recording = _transfer(
            bench,
            made,
            seed,
            *memory,
            manager=manager,
            scheduler=scheduler,
            control=control,
            opportunistic=opportunistic,
        )
        for host in ("client", "server"):
            retransmitted += recording.counter(host, "nstat.json")["kernel"]["MPTcpExtOppRetrans"]
        latest_s = max(latest_s, recording.program("bulk.client")["end_ns"] / 1e9 - made.end_ms / 1e3 - 1)
        least_up, longest_ms = min(least_up, made.some_path_up), max(longest_ms, made.longest_without_ms)
    print(
        f"{manager}, {scheduler}: seeds {seeds}, {EVENTS} events each, in {time.monotonic() - began:.0f} s of wall time"
    )
    print(f"a path up {100 * least_up:.0f} % of the time at the least, none for up to {longest_ms / 1e3:.1f} s")
    print(f"the end at most {latest_s:.1f} s late; {retransmitted} segments retransmitted opportunistically")
    if not opportunistic:
        note(f"random events {manager} {scheduler} schedules", len(seeds))
        note(f"random events {manager} {scheduler} events", EVENTS)
        note(f"random events {manager} {scheduler} path up %", 100 * least_up)
        note(f"random events {manager} {scheduler} late s", latest_s)
    return retransmitted


@pytest.mark.parametrize("control", ["lia_v09", "olia_v09", "balia_v09", "wvegas_v09"])
def test_variants_survive_random_events(bench: Bench, control: str) -> None:
    """They read their siblings' sockets, and here siblings come and go: of one seed, by the path manager of the lab."""
    made = schedule(1, events=EVENTS, kinds=KINDS["userspace"])
    recording = _transfer(bench, made, 1, manager="userspace", scheduler="minrtt", control=control)
    print(
        f"{control}: {EVENTS} events, {recording.program('bulk.client')['end_ns'] / 1e9 - made.end_ms / 1e3:.1f} s late"
    )


RECEIVER = """
import hashlib, socket, time
listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
listener.bind(("0.0.0.0", 9000))
listener.listen()
one, _ = listener.accept()
digest, got = hashlib.sha256(), 0
while data := one.recv(65536):
    digest.update(data)
    got += len(data)
one.sendall(f"{got} {digest.hexdigest()}".encode())
one.close()
time.sleep(1e6)
"""
#: Another scheduler every 50 ms on average, whatever the socket is waiting for.
CHANGER = """
import hashlib, random, select, socket, sys, time
seed, seconds, names = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
choose = random.Random(seed)
one = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
one.connect(("10.0.2.2", 9000))
one.setblocking(False)
digest, sent, changes = hashlib.sha256(), 0, 0
now = time.monotonic()
end, change_at = now + seconds, now
while (now := time.monotonic()) < end:
    if now >= change_at:
        one.setsockopt(284, 43, choose.choice(names).encode())
        changes += 1
        change_at = now + choose.expovariate(20)
    if select.select([], [one], [], max(0, change_at - now))[1]:
        data = choose.randbytes(choose.randrange(1, 20000))
        taken = one.send(data)
        digest.update(data[:taken])
        sent += taken
one.setblocking(True)
one.shutdown(socket.SHUT_WR)
got = b""
while data := one.recv(1000):
    got += data
print(changes, sent, digest.hexdigest(), got.decode())
"""


@pytest.mark.parametrize("version", ["7.2", "6.12"])
def test_survives_changes_of_scheduler(bench: Bench, version: str) -> None:
    """Data arrives once and in order whoever decides, and the end as well."""
    for seed in range(1, SEEDS + 1):
        made = schedule(seed, events=EVENTS, kinds=KINDS["kernel"])
        lasts_s = made.end_ms / 1e3 + 1
        text = _scenario(made, opportunistic=3, manager="kernel", scheduler="default", control="lia", reverse="false")
        argv = ("python3", "-IS", "-c", CHANGER, str(seed), str(lasts_s), "default", *OURS)
        programs = [
            server("receiver", "python3", "-IS", "-c", RECEIVER),
            client("changer", *argv, seconds=lasts_s + LATE_S),
        ]
        lived = bench.live(bench.plan(text, programs=programs), seed=seed, version=version)
        changes, sent, digest, got, received = lived.text("changer").split()
        print(f"seed {seed}: {sent} B, {changes} changes of scheduler")
        # Expected are 20 in a second, whether the socket takes anything or not.
        assert 18 * lasts_s < int(changes) < 22 * lasts_s, changes
        assert (sent, digest) == (got, received), f"seed {seed}: sent {sent}, received {got}"


@pytest.mark.parametrize(
    ("manager", "how"),
    [
        # With the userspace path manager a connection may outlive its subflows, and does here when carriers are lost
        # and HZ is 1000: docs/path-management.md.
        ("userspace", "silent"),
        ("userspace", "interface"),
        ("kernel", "silent"),
        ("kernel", "carrier"),
        ("kernel", "interface"),
    ],
)
def test_ends_when_no_path_comes_back(bench: Bench, manager: str, how: str) -> None:
    events = "\n".join(
        f'[[events]]\nat = "{3 + number} s"\ntype = "down"\nmode = "{how}"\nlink = "access{number}"'
        for number in (1, 2)
    )
    text = SCENARIO.format(
        manager=manager,
        scheduler="default",
        opportunistic=0,
        control="cubic",
        reverse="false",
        goal='size = "100 MB"',
        timeout=1000 * (5 + NEVER_LONGER_S),
        events=events,
    )
    with pytest.raises(LabError) as caught:
        # A quarter of an hour in which nothing happens.
        bench.record(text, "record.interval=10 s", "workloads.bulk.failures=end")
    # Not the timeout of the workload: the connection's own end.
    assert "ended with status 3" in caught.value.message, caught.value.message
