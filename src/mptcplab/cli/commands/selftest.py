# SPDX-License-Identifier: MIT
"""``mptcplab selftest``."""

from __future__ import annotations

from pathlib import Path

import click

from mptcplab.cli import complete
from mptcplab.cli.deferred import defer_to
from mptcplab.cli.options import json_option, junit_option, patch_option
from mptcplab.selftest import DEFAULT_SCRIPTS

_EPILOG = f"""\b
NAME is a script in tools/testing/selftests/net/mptcp, or a group of mptcp_join, such as mptcp_join/add_tests.
With --patch, it can be a script in tools/testing/selftests/net that a patch adds or changes.
Default: {", ".join(DEFAULT_SCRIPTS)}.

\b
Examples:
  mptcplab selftest
  mptcplab selftest pm_netlink mptcp_join/fullmesh_tests --out logs
  mptcplab selftest simult_flows mptcp_connect --scheduler blest
  mptcplab selftest pm_netlink diag --junit tests.xml
  mptcplab selftest --kernel 7.2-plain --json > before.json
  mptcplab selftest --kernel PATH --baseline before.json
  mptcplab selftest --kernel 6.12 --json | jq '.results[] | select(.verdict == "not ok")'
"""


@click.command(epilog=_EPILOG)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "--kernel",
    "version",
    metavar="VERSION",
    shell_complete=complete.kernels,
    help="Lab kernel; the selftests come from its source. Default: 7.2.",
)
@click.option(
    "--source",
    type=click.Path(path_type=Path),
    metavar="TARBALL|TREE",
    help="Source of the lab kernel, if it was not Debian's package.",
)
@patch_option("Patch to apply to the selftests. Repeatable. The kernel does not change.")
@click.option(
    "--congestion-control",
    default="",
    metavar="NAME",
    show_default=False,
    help="Congestion control of sockets that choose none. Default: the kernel's.",
)
@click.option(
    "--scheduler",
    default="",
    metavar="NAME",
    show_default=False,
    help="Scheduler of MPTCP sockets that choose none. Default: the kernel's.",
)
@click.option(
    "--seed", type=click.IntRange(0, 10**18), default=1, show_default=True, help="Seed of all random numbers."
)
@click.option("--jobs", type=click.IntRange(1, 1024), help="Labs to run in parallel. Default: one per CPU.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the complete output of the scripts.")
@click.option(
    "--baseline",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Earlier output of --json with the same seed: show only what changed.",
)
@junit_option
@json_option
@defer_to("mptcplab.cli.selftest:selftest")
def selftest() -> None:
    """Run the kernel's own MPTCP selftests in virtual time, each in a separate lab.

    They come from the source of the lab kernel, and their helper programs are compiled once. The exit status is 1 if a
    test does not pass (with --baseline: if a result changed), and 3 if this machine lacks a program that a script
    checks for: nothing runs then.
    """
