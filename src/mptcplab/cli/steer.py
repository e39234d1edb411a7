# SPDX-License-Identifier: MIT
"""``mptcplab steer``: the steering daemon of a server, the agents of its access points, and the daemon's state."""

from __future__ import annotations

import json
from typing import Any

import click

from mptcplab.cli.options import json_option
from mptcplab.errors import InputError
from mptcplab.steering.program import CONTROL, run_agent, run_daemon

_EPILOG = """\b
Examples:
  mptcplab steer --config daemon.toml       on the server, as root
  mptcplab steer agent --config ap1.toml    beside hostapd, as root
  mptcplab steer status                     what the daemon of this machine does

\b
docs/steering.md describes the keys of both files, and the log.
"""
_config = click.option("--config", metavar="FILE", help="Configuration, in TOML.")


@click.group(epilog=_EPILOG, invoke_without_command=True)
@_config
@click.option("--check", is_flag=True, help="Only check the configuration.")
@click.pass_context
def steer(context: click.Context, config: str | None, check: bool) -> None:
    """Move the terminals of a server between access points, by the priorities of their MPTCP subflows.

    Without a command, run the daemon on this server. Its log goes to standard output, one JSON object per line.
    """
    if context.invoked_subcommand is not None:
        if config is not None or check:
            raise InputError(
                f"--config and --check of the daemon come without '{context.invoked_subcommand}'", hint="see --help"
            )
        return
    source = _given(config)
    if check:
        from mptcplab.steering.configuration import daemon_config

        daemon_config(source)
        click.echo(f"{source} is valid")
        return
    run_daemon(source)


@steer.command()
@_config
def agent(config: str | None) -> None:
    """Report the stations of this access point to the daemon."""
    run_agent(_given(config))


@steer.command()
@click.argument("socket", default=CONTROL)
@json_option
def status(socket: str, as_json: bool) -> None:
    """Print the state of the daemon that listens at SOCKET, the `control` of its configuration."""
    from mptcplab.steering.control import read_status

    found = read_status(socket)
    if as_json:
        click.echo(json.dumps(found))
        return
    for line in _lines(found):
        click.echo(line)


@steer.command()
def program() -> None:
    """Print the path of daemon and agent as one file, which runs on machines without mptcplab."""
    from mptcplab.engine.steering import steer_program  # late: nothing else here needs it

    click.echo(steer_program())


def _given(config: str | None) -> str:
    if config is None:
        raise InputError("there is no configuration", hint="add --config FILE; docs/steering.md has examples")
    if config.startswith("{"):
        raise InputError("--config is not the name of a file", hint="write the configuration to a file")
    return config


def _lines(found: dict[str, Any]) -> list[str]:
    last = found["last"]
    lines = [
        f"policy {found['policy']}: {found['switches']} switches in {found['decisions']} decisions; "
        f"{found['refused']} reports refused, {found['overruns']} overruns"
    ]
    for name, one in found["access_points"].items():
        state = "silent" if one["silent"] else "doubted" if name in last.get("doubted", ()) else "reports"
        terminals = [terminal for terminal, place in last.get("terminals", {}).items() if place == name]
        received = last.get("received", {}).get(name)
        words = f"{name}: {state}, {one['stations']} stations, {len(terminals)} terminals"
        lines.append(words if received is None else f"{words}, received {received} B in the last period")
    return lines
