# SPDX-License-Identifier: MIT
"""Runs the commands of this folder, and reports their errors."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from mptcplab.errors import LabError, MissingError

#: The folder that `make wheels` builds to.
DIST = Path("dist")


def run_main(main: Callable[[], None], *, name: str = "wheels") -> NoReturn:
    """End this process with status 0, or with the status of the error of `main`, which is printed after `name`."""
    try:
        main()
    except LabError as error:
        hint = f"\n  hint: {error.hint}" if error.hint else ""
        print(f"{name}: {error.message}{hint}", file=sys.stderr)
        sys.exit(error.status)
    sys.exit()


def wheels_in(folder: Path) -> list[Path]:
    """Return both wheels in a folder, the Python code's first. :raises MissingError: if there are not exactly two."""
    found = sorted(folder.glob("mptcplab[-_]*.whl"))
    if len(found) != 2:
        raise MissingError(
            f"{folder} has {len(found)} wheels of mptcplab instead of two", hint="empty it, then `make wheels`"
        )
    return found
