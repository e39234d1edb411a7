# SPDX-License-Identifier: MIT
"""``python -m release.deb``: installs the Debian package of dist/ in an empty Debian, as root, and runs its tests."""

from __future__ import annotations

import tempfile
from pathlib import Path

from wheels.command import DIST, run_main

from mptcplab.errors import MissingError
from release.command import ROOT, run
from release.image import make_root
from release.versions import check_versions


def main() -> None:
    """Test the package of the present version."""
    package = find_package(DIST, check_versions(ROOT))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        make_root(root)
        print(run(["autopkgtest", "--no-built-binaries", package.resolve(), f"{ROOT}/", "--", "chroot", root]))
    print(f"{package.name}: installed in an empty Debian, and its tests pass")


def find_package(folder: Path, version: str) -> Path:
    """Return the path of the package. :raises MissingError: if it is not there."""
    packages = sorted(folder.glob(f"mptcplab_{version}_*.deb"))
    if not packages:
        raise MissingError(f"{folder} has no Debian package of version {version}", hint="make deb")
    return packages[0]


if __name__ == "__main__":
    run_main(main)
