# SPDX-License-Identifier: MIT
"""``mptcplab steer``."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click

from mptcplab.errors import InputError

_EPILOG = """\b
Examples:
  mptcplab steer daemon daemon.json     on the server, as root
  mptcplab steer agent ap1.json         beside hostapd, as root
  mptcplab steer --program              print the path of both as one file, to be copied to other machines

\b
docs/steering.md describes the keys of both files.
"""
_KEYS = {
    "daemon": ("listen", "key", "period_s", "policy", "floor_dbm"),
    "agent": ("access_point", "devices", "server", "key", "period_s"),
}
_OF_POLICIES = {"ratio": ("threshold",), "fair": ("margin_db", "hold_s"), "none": ()}
_MIN_KEY_BYTES = 16


@click.command(epilog=_EPILOG)
@click.argument("side", type=click.Choice(list(_KEYS)), required=False)
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--program", "only_print", is_flag=True, help="Print the path of the program, and run nothing.")
def steer(side: str | None, file: Path | None, only_print: bool) -> None:
    """Move the terminals of a server between access points, by the priorities of their MPTCP subflows.

    SIDE is `daemon` on the server, or `agent` on an access point. FILE has its configuration in JSON.
    """
    from mptcplab.engine.steering import steer_program  # late, because `steer --help` does not need it

    if only_print:
        click.echo(steer_program())
        return
    if side is None or file is None:
        raise InputError("steer needs a side and a file", hint="write mptcplab steer daemon FILE, or see --help")
    text = json.dumps(_checked(side, file))
    program = str(steer_program())
    os.execv(program, [program, side, text])


def _checked(side: str, file: Path) -> dict[str, Any]:
    """Return the configuration in ``file``. :raises InputError: if it lacks a key or is none."""
    try:
        config = json.loads(file.read_text())
    except (OSError, ValueError) as error:
        hint = "write JSON as in docs/steering.md"
        raise InputError(f"{file} cannot be read as a configuration: {error}", hint=hint) from error
    if not isinstance(config, dict):
        raise InputError(f"{file} is not a table", hint="write JSON as in docs/steering.md")
    policy = config.get("policy")
    if side == "daemon" and policy not in _OF_POLICIES:
        raise InputError(f"{file}: there is no policy {policy!r}", hint=f"use {', '.join(_OF_POLICIES)}")
    lacking = [key for key in (*_KEYS[side], *_OF_POLICIES.get(str(policy), ())) if key not in config]
    if lacking:
        raise InputError(f"{file} has no {', '.join(lacking)}", hint="see docs/steering.md for the keys")
    try:
        if len(bytes.fromhex(config["key"])) < _MIN_KEY_BYTES:
            raise InputError(f"{file}: the key is too short", hint="make one: openssl rand -hex 32")
    except (TypeError, ValueError) as error:
        raise InputError(f"{file}: the key is not hexadecimal", hint="make one: openssl rand -hex 32") from error
    return config
