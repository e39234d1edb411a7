# SPDX-License-Identifier: MIT
"""``mptcplab exec``."""

from __future__ import annotations

import os
from pathlib import Path

import click

from mptcplab import api
from mptcplab.errors import InputError


def exec(
    scenario: Path | None,
    node: str | None,
    version: str | None,
    seed: int | None,
    overrides: tuple[str, ...],
    timeout: str,
    stall: str,
    variables: tuple[str, ...],
    out: Path | None,
    expose: tuple[Path, ...],
    no_stdin: bool,
    shell: bool,
    command: tuple[str, ...],
) -> int:
    """Run ``command`` in a lab and return the exit status."""
    _open_all_streams()
    if not command and not shell:
        raise click.UsageError("give a command to run, or --shell")
    prepared = api.prepare_command(
        command,
        scenario=scenario,
        node=node,
        kernel=version,
        seed=seed,
        set=overrides,
        environment=_variables(variables),
        timeout=timeout,
        stall=stall,
        out=out,
        expose=expose,
    )
    ended = prepared.run_terminal() if shell else prepared.run(_streams(no_stdin))
    return ended.status


def _variables(given: tuple[str, ...]) -> dict[str, str]:
    """Return the variables of ``--env``, with the values of this environment for those without one."""
    pairs = [text.partition("=") for text in given]
    unset = [name for name, equals, _ in pairs if not equals and name not in os.environ]
    if unset:
        raise InputError(f"the variable '{unset[0]}' is not set here", hint=f"write --env {unset[0]}=VALUE")
    return {name: value if equals else os.environ[name] for name, equals, value in pairs}


def _open_all_streams() -> None:
    """Open standard streams that were closed (``>&-``), before another descriptor gets their number."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _streams(no_stdin: bool) -> api.Streams:
    """Return this process's streams. Outputs to the same file, such as a terminal, are merged to keep their order."""
    same = os.path.sameopenfile(1, 2)
    return api.Streams(stdin=None if no_stdin or os.isatty(0) else 0, stdout=1, stderr=2, merged=same)
