# SPDX-License-Identifier: MIT
"""The script that collects evidence on a real machine, as text and as a program of this machine."""

from __future__ import annotations

import subprocess
from importlib import resources


def collector_script() -> str:
    """Return the script of ``mptcplab collect``: any POSIX shell runs it, also on a router, and it only reads."""
    return resources.files("mptcplab.explain").joinpath("collect.sh").read_text()


def run_collector(
    *,
    seconds: int = 10,
    interval: int = 2,
    name: str | None = None,
    hide: bool = False,
    packets: bool = False,
    count: int | None = None,
) -> int:
    """Run the script on this machine for some ``seconds``, and return its exit status. Its outputs are this process's.

    It looks at the sockets every ``interval`` seconds, and writes ``name``.tar.gz into the working directory. The
    default name is the host's, with the date. With ``hide``, addresses and the host's name are replaced. With
    ``packets``, it also captures the headers of at most ``count`` packets, as root.
    """
    options = ["-t", str(seconds), "-i", str(interval)]
    options += ["-o", name] if name is not None else []
    options += ["-a"] if hide else []
    options += ["-p"] if packets else []
    options += ["-n", str(count)] if count is not None else []
    done = subprocess.run(["sh", "-s", "--", *options], input=collector_script(), text=True, check=False)
    return done.returncode
