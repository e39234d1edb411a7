# SPDX-License-Identifier: MIT
"""``python -m tools.wheels.compare``: builds the wheels of dist/ again elsewhere. Status 1 means that bytes differ.

The second build is of a copy of the checkout in another folder, by a process with other permissions for its files and
another time zone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.wheels.command import DIST, run_main, wheels_in
from tools.wheels.contents import ROOT

from mptcplab.errors import LabError

#: Folders at the top of a checkout that are not part of it.
_NOT_COPIED = frozenset({".git", ".venv", ".hypothesis", "build", "dist", "results"})
#: Files of the second build can be read by their owner only.
_UMASK = 0o077
_TIME_ZONE = "Pacific/Auckland"


def main() -> None:
    """Build again and compare."""
    first = wheels_in(DIST)
    with tempfile.TemporaryDirectory() as folder:
        copy, out = Path(folder) / "another-folder" / "mptcplab", Path(folder) / "out"
        shutil.copytree(ROOT, copy, ignore=_list_ignored)
        _build(copy, out)
        compare(first, wheels_in(out))
    print(f"{', '.join(wheel.name for wheel in first)}: the same bytes from another folder")


def compare(first: list[Path], second: list[Path]) -> None:
    """Compare wheels, byte for byte. :raises LabError: naming the first that differs."""
    for path, other in zip(first, second, strict=True):
        if path.name != other.name or path.read_bytes() != other.read_bytes():
            raise LabError(f"{path.name} and {other.name} of another folder differ")


def _list_ignored(folder: str, names: list[str]) -> set[str]:
    return {name for name in names if name == "__pycache__" or (Path(folder) == ROOT and name in _NOT_COPIED)}


def _build(checkout: Path, out: Path) -> None:
    paths = os.pathsep.join([str(checkout / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", "tools.wheels", "--out", str(out)],
        cwd=checkout,
        env=os.environ | {"PYTHONPATH": paths, "TZ": _TIME_ZONE},
        umask=_UMASK,
        stdout=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode:
        raise LabError("the second build failed")


if __name__ == "__main__":
    run_main(main)
