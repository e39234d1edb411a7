# SPDX-License-Identifier: MIT
"""``mptcplab cc``: loads the lab's congestion controls into this machine's kernel, as eBPF programs."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from mptcplab.cli import complete
from mptcplab.cli.options import json_option
from mptcplab.ebpf import controls
from mptcplab.ebpf.controls import Control

_AFTER = "in a network namespace: sysctl net.ipv4.tcp_congestion_control={name}; docs/ebpf.md has other ways"
_name = click.argument("name", metavar="NAME", shell_complete=complete.controls)


@click.group()
def cc() -> None:
    """Load LIA, OLIA, BALIA and wVegas into this machine's kernel, as eBPF programs."""


@cc.command()
@_name
def load(name: str) -> None:
    """Load the congestion control NAME: lia, olia, balia or wvegas. Needs root, bpftool and clang.

    It changes no connection by itself. Programs of all users may choose it.
    """
    controls.load(name)
    click.echo(f"loaded {name}; to use it {_AFTER.format(name=name)}")


@cc.command()
@_name
def unload(name: str) -> None:
    """Unload the congestion control NAME. Connections that use it keep it until they end."""
    controls.unload(name)
    click.echo(f"unloaded {name}")


@cc.command(name="list")
@json_option
def list_(as_json: bool) -> None:
    """List the congestion controls, and whether they are loaded."""
    _print(controls.states(), as_json)


@cc.command()
@_name
@json_option
def status(name: str, as_json: bool) -> None:
    """Print whether NAME is loaded, and how many subflows use it."""
    _print([controls.status(name)], as_json)


def _print(found: list[Control], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps([asdict(control) for control in found]))
        return
    for control in found:
        click.echo(f"{control.name:<8}{_words(control)}")


def _words(control: Control) -> str:
    if control.state == "taken":
        return "taken: the kernel has another one of this name"
    if control.subflows is None:
        return control.state
    return f"{control.state}, {control.subflows} subflows, {control.uncoupled} so far were left uncoupled"
