# SPDX-License-Identifier: MIT
"""Random events for one node, from a seed. Pure: what an event does is data, and `agent` carries it out.

The sequence keeps track of what it did, so that most events are possible when they come. Some are not, since the other
node, or what the kernel did by itself, got in between: that is wanted.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from tests.smp.guest.choices import (
    CONGESTION_CONTROLS,
    COUPLED_SETTINGS,
    FIRST_ENDPOINTS,
    PATHS,
    SCHEDULERS,
    add_prefix,
    address,
    endpoint,
    interface,
)

#: How often each kind is drawn.
WEIGHTS = {
    "congestion control": 6,
    "scheduler": 6,
    "opportunistic": 3,
    "coupled setting": 3,
    "weights": 3,
    "buffers": 2,
    "interface": 4,
    "address": 3,
    "path": 5,
    "endpoint": 6,
    "flags": 4,
    "flush": 1,
    "limits": 1,
    "kill": 3,
    "listener": 1,
    "namespace": 1,
}
_T = TypeVar("_T", int, tuple[int, bool])
#: The largest ids that endpoints get; 0 is the kernel's own.
_IDS = range(1, 9)


@dataclass(frozen=True)
class Event:
    """Something that happens to a node: files to write, commands to run, a server to start again."""

    kind: str
    writes: tuple[tuple[str, str], ...] = ()
    """Files below /proc/sys, and the text that each gets."""
    commands: tuple[tuple[str, ...], ...] = ()
    restarts: bool = False
    """The node's servers are ended and started anew."""


class Events:
    """The endless sequence of events of `node`; equal seeds give equal sequences."""

    def __init__(self, seed: int, node: str) -> None:
        self._chance = random.Random(f"{seed} {node}")
        self._node = node
        self._down: set[int] = set()
        self._without: set[tuple[int, bool]] = set()
        self._endpoints = set(FIRST_ENDPOINTS[node])
        self._makers: dict[str, Callable[[], Event]] = {
            "congestion control": lambda: self._setting("net/ipv4/tcp_congestion_control", CONGESTION_CONTROLS),
            "scheduler": lambda: self._setting("net/mptcp/scheduler", SCHEDULERS),
            "opportunistic": lambda: self._setting("net/mptcp/scheduler_opportunistic", ("0", "1", "2", "3", "3", "3")),
            "coupled setting": lambda: self._setting(*self._chance.choice(tuple(COUPLED_SETTINGS.items()))),
            "weights": self._weights,
            "buffers": self._buffers,
            "interface": self._interface,
            "address": self._address,
            "path": self._path,
            "endpoint": self._endpoint,
            "flags": self._flags,
            "flush": self._flush,
            "limits": self._limits,
            "kill": self._kill,
            "listener": lambda: Event("", restarts=True),
            "namespace": self._namespace,
        }

    def __iter__(self) -> Iterator[tuple[float, Event]]:
        """Yield each event behind the seconds to wait before it, in units of the mean."""
        kinds, weights = list(WEIGHTS), list(WEIGHTS.values())
        while True:
            kind = self._chance.choices(kinds, weights)[0]
            made = self._makers[kind]()
            yield self._chance.expovariate(1), Event(kind, made.writes, made.commands, made.restarts)

    def _setting(self, file: str, values: tuple[str, ...]) -> Event:
        return Event("", writes=((file, self._chance.choice(values)),))

    def _weights(self) -> Event:
        entries = [
            f"{address('client', path, six=self._chance.random() < 0.3)}={self._chance.randint(1, 255)}"
            for path in PATHS
            if self._chance.random() < 0.6
        ]
        return Event("", writes=(("net/mptcp/scheduler_weights", " ".join(entries)),))

    def _buffers(self) -> Event:
        """Buffers of sockets to come: small ones make windows block, for which opportunistic retransmission is."""
        file = self._chance.choice(("net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem"))
        largest = self._chance.choice((20_000, 50_000, 100_000, 1_000_000))
        return Event("", writes=((file, f"4096 {min(largest, 65536)} {largest}"),))

    def _toggle(self, failed: set[_T], all_of_them: list[_T]) -> _T:
        """Let one fail, or more often let a failed one work again, so that most work at any time."""
        name = self._chance.choice(sorted(failed) if failed and self._chance.random() < 0.9 else all_of_them)
        failed ^= {name}
        return name

    def _interface(self) -> Event:
        path = self._toggle(self._down, list(PATHS))
        state = "down" if path in self._down else "up"
        return Event("", commands=(("ip", "link", "set", "dev", interface(self._node, path), state),))

    def _address(self) -> Event:
        # The first path keeps its addresses: some connections can always begin.
        path, six = self._toggle(self._without, [(path, six) for path in PATHS[1:] for six in (False, True)])
        verb = "del" if (path, six) in self._without else "add"
        name = interface(self._node, path)
        extra = ("nodad",) if six and verb == "add" else ()
        return Event(
            "", commands=(("ip", "address", verb, add_prefix(self._node, path, six=six), "dev", name, *extra),)
        )

    def _path(self) -> Event:
        """Another delay, loss and rate of what this node sends, or another queue altogether."""
        name = interface(self._node, self._chance.choice(PATHS))
        rate = f"{self._chance.choice((1, 2, 5, 10, 20))}mbit"
        if self._chance.random() < 0.2:
            queue = ("tbf", "rate", rate, "burst", "16kb", "latency", f"{self._chance.randint(10, 200)}ms")
        else:
            delay = self._chance.choice((0, 1, 2, 5, 20, 50))
            loss = self._chance.choice((0, 0, 0, 0.5, 1, 3, 10))
            timing = ("delay", f"{delay}ms", f"{delay // 2}ms") if delay else ()
            queue = ("netem", *timing, "loss", f"{loss}%", "rate", rate, "limit", str(self._chance.choice((20, 100))))
        return Event("", commands=(("tc", "qdisc", "replace", "dev", name, "root", *queue),))

    def _endpoint(self) -> Event:
        number = self._chance.choice(_IDS)
        if number in self._endpoints:
            self._endpoints.remove(number)
            return Event("", commands=(("ip", "mptcp", "endpoint", "delete", "id", str(number)),))
        self._endpoints.add(number)
        kinds = ("subflow", "subflow", "signal", "subflow backup", "subflow fullmesh")
        path, six, flags = self._chance.choice(PATHS), self._chance.random() < 0.3, self._chance.choice(kinds).split()
        return Event("", commands=(endpoint(self._node, number, path, *flags, six=six),))

    def _flags(self) -> Event:
        number = self._chance.choice(sorted(self._endpoints) or [1])
        flag = self._chance.choice(("backup", "nobackup", "fullmesh", "nofullmesh"))
        return Event("", commands=(("ip", "mptcp", "endpoint", "change", "id", str(number), flag),))

    def _flush(self) -> Event:
        self._endpoints.clear()
        return Event("", commands=(("ip", "mptcp", "endpoint", "flush"),))

    def _limits(self) -> Event:
        counts = (str(self._chance.randint(2, 8)) for _ in range(2))
        subflows, accepted = counts
        return Event(
            "", commands=(("ip", "mptcp", "limits", "set", "subflow", subflows, "add_addr_accepted", accepted),)
        )

    def _kill(self) -> Event:
        """Reset the subflows of a path, or one connection in a few of them, from outside."""
        path, six = self._chance.choice(PATHS), self._chance.random() < 0.3
        source = address(self._node, path, six=six)
        return Event("", commands=(("ss", "-K", "-t", "-n", "-H", "src", f"[{source}]" if six else source),))

    def _namespace(self) -> Event:
        """A namespace that ends while its connections are still there: `agent` fills it with one."""
        congestion_control, scheduler = self._chance.choice(CONGESTION_CONTROLS), self._chance.choice(SCHEDULERS)
        script = (
            "ip link set lo up; ip mptcp endpoint add 127.0.0.2 subflow; ip mptcp limits set subflow 2; "
            "flow server --mptcp --port 9 --connections 2 >/dev/null & server=$!; "
            "sleep 0.3; flow client --mptcp --connect 127.0.0.1 --port 9 --connections 2 --bytes 300000 "
            f"--congestion {congestion_control} --scheduler {scheduler} >/dev/null & client=$!; sleep 0.6; "
            # Either may have come to its end by then.
            "kill -KILL $client $server || :"
        )
        return Event("", commands=(("unshare", "--net", "sh", "-ec", script),))
