# SPDX-License-Identifier: MIT
"""``mptcplab cc``: loads the lab's congestion controls into this machine's kernel, as eBPF programs."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from mptcplab.ebpf import controls
from mptcplab.ebpf.controls import CongestionControl

_AFTER = "in a network namespace: sysctl net.ipv4.tcp_congestion_control={name}; docs/ebpf.md has other ways"


def load(name: str) -> None:
    """Load a congestion control."""
    controls.load(name)
    click.echo(f"loaded {name}; to use it {_AFTER.format(name=name)}")


def unload(name: str) -> None:
    """Unload a congestion control."""
    controls.unload(name)
    click.echo(f"unloaded {name}")


def list_(as_json: bool) -> None:
    """Print the state of every congestion control."""
    _print(controls.states(), as_json)


def status(name: str, as_json: bool) -> None:
    """Print the state of one congestion control."""
    _print([controls.status(name)], as_json)


def _print(states: list[CongestionControl], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps([asdict(state) for state in states]))
        return
    for state in states:
        click.echo(f"{state.name:<8}{_words(state)}")


def _words(state: CongestionControl) -> str:
    if state.state == "taken":
        return "taken: the kernel has another one of this name"
    if state.subflows is None:
        return state.state
    return f"{state.state}, {state.subflows} subflows, {state.uncoupled} so far were left uncoupled"
