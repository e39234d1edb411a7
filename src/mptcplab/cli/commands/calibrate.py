# SPDX-License-Identifier: MIT
"""``mptcplab calibrate``: measures what a program costs on this machine's CPU."""

from __future__ import annotations

import click

from mptcplab.cli.deferred import DeferredChoice, defer_to
from mptcplab.cli.options import json_option

_EPILOG = """\b
Examples:
  mptcplab calibrate shadowsocks-libev
  mptcplab calibrate shadowsocks-libev --cipher aes-256-gcm --json | jq '.[].cpu'
  mptcplab calibrate iperf3 --seconds 3 --repeats 5
"""


@click.command(epilog=_EPILOG)
@click.argument("program", type=DeferredChoice("mptcplab.calibrate.programs:PROGRAMS"))
@click.option(
    "--cipher", "ciphers", multiple=True, help="Cipher of the program. Repeatable. Default: all that are known."
)
@click.option(
    "--seconds", type=click.FloatRange(0.2, 60), default=1.0, show_default=True, help="Duration of each load."
)
@click.option(
    "--repeats",
    type=click.IntRange(1, 100),
    default=3,
    show_default=True,
    help="Runs of each load, of which the one with the least CPU time counts.",
)
@json_option
@defer_to("mptcplab.cli.calibrate:calibrate")
def calibrate() -> None:
    """Measure the CPU time of PROGRAM per system call and per byte, for the key `cpu` of a node.

    It runs natively on this machine, as root, in a network namespace of its own, and carries traffic of several kinds.
    Its CPU time, system calls and bytes give the two costs. CPU time depends little on other programs that run
    meanwhile, but caches are shared: an idle machine is better.
    """
