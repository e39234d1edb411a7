# SPDX-License-Identifier: MIT
"""``python -m mptcplab.kernel``: builds a lab kernel with Python alone, unless there is one.

`make demo` calls it while pip installs the libraries, which ``mptcplab kernel build`` needs, and before that with
``--find``, to announce what it will do.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from mptcplab.errors import Exit, LabError, MissingError
from mptcplab.kernel.build import BuildOptions, build_kernel
from mptcplab.kernel.cache import find_kernel, variant_name
from mptcplab.kernel.data import DEFAULT_HZ, DEFAULT_VERSION, FIXES, HZ_CHOICES
from mptcplab.kernel.progress import LineReporter


def main(arguments: Sequence[str]) -> int:
    """Build or find what the arguments say, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m mptcplab.kernel", description="Build a lab kernel.")
    parser.add_argument("--hz", type=int, default=DEFAULT_HZ, choices=HZ_CHOICES, help="timer frequency")
    parser.add_argument("--fix", action="append", default=[], choices=sorted(FIXES), help="bug to fix; repeatable")
    parser.add_argument("--find", action="store_true", help="build nothing: status 3 if the kernel is not built")
    given = parser.parse_args(arguments)
    options = BuildOptions(hz=given.hz, fixes=given.fix)
    try:
        try:
            find_kernel(variant_name(DEFAULT_VERSION, options.variant))
        except MissingError:
            if given.find:
                raise
            build_kernel(options=options, progress=LineReporter(_print_line))
    except LabError as error:
        hint = f"\n  hint: {error.hint}" if error.hint else ""
        print(f"mptcplab: {error.message}{hint}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        print("mptcplab: interrupted", file=sys.stderr)
        return Exit.INTERRUPTED
    return Exit.DONE


def _print_line(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
