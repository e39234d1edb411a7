# SPDX-License-Identifier: MIT
"""``mptcplab fit``."""

from __future__ import annotations

from pathlib import Path

import click

from mptcplab.cli.deferred import defer_to
from mptcplab.cli.options import running_options

_EPILOG = """\b
Examples:
  mptcplab fit router.tar.gz
  mptcplab fit client.tar.gz server.tar.gz --advise --repeats 10
  mptcplab fit capture.pcap sockets.txt --line 'line2: queue 300 ms' --out home.toml
  mptcplab fit --line 'lte: 40 Mbit/s down, 10 Mbit/s up, ping 45 ms, loaded ping 300 ms, loss 0.1 %' --advise
  mptcplab fit lines.toml --no-run

\b
A FILE is what the script of `mptcplab collect` wrote, a capture, a text with outputs of ss, ip and sysctl, or a TOML
file with typed lines ([lines.NAME] with down, up, ping, loaded_ping, queue, loss). Nothing in a file is run.
"""


@click.command(epilog=_EPILOG)
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--line",
    "lines",
    multiple=True,
    metavar="NAME: VALUES",
    help="A line, or known values of a line that was found. Repeatable.",
)
@click.option(
    "--direction",
    type=click.Choice(["down", "up"]),
    default="down",
    help="Direction of the payload, for typed lines.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("twin.toml"), help="File of the scenario that is written."
)
@click.option("--repeats", type=click.IntRange(1, 1000), default=8, help="Seeds of the twin and of each change.")
@click.option("--no-run", is_flag=True, help="Only write the scenario.")
@click.option("--advise", is_flag=True, help="Try changes on the twin and rank them.")
@click.option(
    "--try",
    "tried",
    multiple=True,
    metavar="KEY=VALUE",
    help="With --advise: try this change of the scenario, too, such as kernel=6.12. Repeatable.",
)
@click.option(
    "--sample",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="With --advise: also try N combinations of changes, spread over all.",
)
@running_options
@defer_to("mptcplab.cli.fit:fit")
def fit() -> None:
    """Make a scenario of what was observed on real machines: the twin. Run it beside the observation.

    It estimates rate, round trip, queue and random loss of each line, and says where each value comes from. What the
    files cannot show is a bound or an assumption, and is named as such.
    """
