# SPDX-License-Identifier: MIT
"""``mptcplab steer``: the steering daemon of a server, the agents of its access points, and the daemon's state."""

from __future__ import annotations

import json
from typing import Any

import click

from mptcplab import api
from mptcplab.errors import InputError
from mptcplab.steering.program import run_agent, run_daemon


def steer(context: click.Context, config: str | None, check: bool) -> None:
    """Run the daemon, or check its configuration, unless a subcommand follows."""
    if context.invoked_subcommand is not None:
        if config is not None or check:
            raise InputError(
                f"--config and --check of the daemon come without '{context.invoked_subcommand}'", hint="see --help"
            )
        return
    source = _check_config(config)
    if check:
        from mptcplab.steering.configuration import daemon_config

        daemon_config(source)
        click.echo(f"{source} is valid")
        return
    run_daemon(source)


def agent(config: str | None) -> None:
    """Run the agent."""
    run_agent(_check_config(config))


def status(socket: str, as_json: bool) -> None:
    """Print the state of the daemon that listens at ``socket``."""
    from mptcplab.steering.control import read_status

    entry = read_status(socket)
    if as_json:
        click.echo(json.dumps(entry))
        return
    for line in _lines(entry):
        click.echo(line)


def program() -> None:
    """Print the path of the program for other machines."""
    click.echo(api.steer_program())


def _check_config(config: str | None) -> str:
    if config is None:
        raise InputError("there is no configuration", hint="add --config FILE; docs/steering.md has examples")
    if config.startswith("{"):
        raise InputError("--config is not the name of a file", hint="write the configuration to a file")
    return config


def _lines(report: dict[str, Any]) -> list[str]:
    last = report["last"]
    lines = [
        f"policy {report['policy']}: {report['switches']} switches in {report['decisions']} decisions; "
        f"{report['refused']} reports refused, {report['overruns']} overruns"
    ]
    for name, entry in report["access_points"].items():
        state = "silent" if entry["silent"] else "doubted" if name in last.get("doubted", ()) else "reports"
        terminals = [terminal for terminal, place in last.get("terminals", {}).items() if place == name]
        received = last.get("received", {}).get(name)
        words = f"{name}: {state}, {entry['stations']} stations, {len(terminals)} terminals"
        lines.append(words if received is None else f"{words}, received {received} B in the last period")
    return lines
