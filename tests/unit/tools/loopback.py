# SPDX-License-Identifier: MIT
"""The workload program `flow` over loopback: its two ends, and what they wrote."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DEADLINE_S = 30.0

# States of sockets in /proc/net/tcp
ESTABLISHED = "01"
LISTEN = "0A"
#: What a UDP socket is until it has a peer.
UNCONNECTED = "07"

Event = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """What both ends of one run wrote."""

    server: list[Event]
    client: list[Event]


def wait_for_socket(port: int, state: str, process: subprocess.Popen[str]) -> None:
    """Until the port has a socket in this state; connecting to find out would be counted."""
    tables = [Path("/proc/net") / name for name in ("tcp", "tcp6", "udp", "udp6")]
    end = time.monotonic() + DEADLINE_S
    while process.poll() is None and time.monotonic() < end:
        lines = [line for table in tables if table.exists() for line in table.read_text().splitlines()]
        if any(row[1].endswith(f":{port:04X}") and row[3] == state for row in map(str.split, lines)):
            return
        time.sleep(0.01)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True)
class Lab:
    flow: Path
    directory: Path

    def server(self, *options: str, port: int) -> subprocess.Popen[str]:
        output = self.directory / "server.json"
        command: list[str | Path] = [self.flow, "server", "--port", str(port), "--output", output, *options]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        wait_for_socket(port, UNCONNECTED if "--udp" in options else LISTEN, process)
        return process

    def client(
        self, *options: str, port: int, to: str = "127.0.0.1", env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        output = self.directory / "client.json"
        command: list[str | Path] = [self.flow, "client", "--connect", to, "--port", str(port)]
        return subprocess.run(
            [*command, "--output", output, *options],
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            env=env,
        )

    def events(self, role: str) -> list[Event]:
        lines = (self.directory / f"{role}.json").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def run(
        self,
        *client: str,
        server: tuple[str, ...] = (),
        connections: int = 1,
        to: str = "127.0.0.1",
        env: dict[str, str] | None = None,
    ) -> Run:
        port = free_port()
        count = ("--connections", str(connections))
        process = self.server(*count, *server, port=port)
        try:
            done = self.client(*count, *client, port=port, to=to, env=env)
            assert (done.returncode, done.stderr) == (0, "")
            assert process.wait(DEADLINE_S) == 0
        finally:
            process.kill()
            process.communicate()
        return Run(server=self.events("server"), client=self.events("client"))
