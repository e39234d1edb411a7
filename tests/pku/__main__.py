# SPDX-License-Identifier: MIT
"""``python -m tests.pku [--seconds N] COMMAND...``: a command on an emulated processor with protection keys.

It runs as root in the folder of the repository and sees this machine's files; what it writes is lost, but for files in
/run/pku, which are in build/pku/shared afterwards. The status is the command's.

``python -m tests.pku .venv/bin/python -m tests.fuzz.syscalls --calls 20000 --seed 7`` compares random system calls.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.pku.machine import Machine

from mptcplab.errors import LabError
from mptcplab.kernel.stock import find_stock


def main() -> int:
    """Run the command, and print its output."""
    parser = argparse.ArgumentParser(prog="python -m tests.pku", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=3600.0, help="real time after which the machine is ended")
    parser.add_argument("--stock", default="", help="version or path of the stock kernel that the machine boots")
    parser.add_argument("--out", type=Path, default=Path("build/pku"), help="folder of the machine's files")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="the command and its arguments")
    arguments = parser.parse_args()
    if not arguments.command:
        parser.error("name a command")
    try:
        machine = Machine(find_stock(arguments.stock), arguments.out.resolve())
        result = machine.run(arguments.command, arguments.seconds)
    except LabError as error:
        print(f"pku: {error.message}\n  hint: {error.hint}", file=sys.stderr)
        return error.status
    print(result.output, end="")
    return result.status


if __name__ == "__main__":
    sys.exit(main())
