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
#: The packages beside the core, by the names of their folders.
PACKAGES = tuple(sorted(file.parent.name for file in Path(__file__).parents[2].glob("packages/*/pyproject.toml")))


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
    """Return all wheels of a release in a folder, sorted by name.

    :raises MissingError: if one is missing, or there are others.
    """
    wheels = sorted(folder.glob("mptcplab[-_]*.whl"))
    names = [wheel.name.partition("-")[0].replace("_", "-") for wheel in wheels]
    if names != sorted(["mptcplab", "mptcplab-kernel", *PACKAGES]):
        message = f"{folder} has the wheels {', '.join(names) or 'of nothing'}: not the wheels of one release"
        raise MissingError(message, hint="empty it, then `make wheels`")
    return wheels
