# SPDX-License-Identifier: MIT
"""The settings of `mptcplab selftest --scheduler --congestion-control`, made before a script starts."""

from __future__ import annotations

import subprocess

from mptcplab.selftest.suite import SocketDefaults


def test_nothing_is_set_by_default() -> None:
    assert SocketDefaults().commands() == []


def test_both_are_set_and_named() -> None:
    defaults = SocketDefaults("olia", "blest")
    assert [line.split("> ")[1].split()[0] for line in defaults.commands()] == [
        "/proc/sys/net/ipv4/tcp_congestion_control",
        "/proc/sys/net/mptcp/scheduler",
    ]
    assert str(defaults) == "congestion control 'olia' or scheduler 'blest'"


def test_a_name_is_data_and_a_refusal_has_its_own_status() -> None:
    """The name is quoted, and a name that cannot be written ends the shell with 97."""
    (line,) = SocketDefaults(scheduler="a'; exit 3; '").commands()
    line = line.replace("/proc/sys/net/mptcp/scheduler", "/nowhere/scheduler")
    assert subprocess.run(["bash", "-c", line], capture_output=True).returncode == 97
