# SPDX-License-Identifier: MIT
"""``python -m tools.release.deb``: installs the Debian package of dist/ in an empty Debian, as root, and tests it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tools.release.command import ROOT, run
from tools.release.image import make_root
from tools.release.versions import check_versions
from tools.wheels.command import DIST, run_main

from mptcplab.errors import MissingError

#: Tests the package in the root file system $0, with this machine's /proc and /dev, which labs need.
_TEST = """mount --rbind /proc "$0/proc"; mount --rbind /dev "$0/dev"
exec autopkgtest --setup-commands "apt-get update" --no-built-binaries "$1" "$2" -- chroot "$0"
"""


def main() -> None:
    """Test the package of the present version."""
    package = find_package(DIST, check_versions(ROOT))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        make_root(root)
        print(run(["unshare", "--mount", "sh", "-ec", _TEST, root, package.resolve(), f"{ROOT}/"]))
    print(f"{package.name}: installed in an empty Debian, and its tests pass")


def find_package(folder: Path, version: str) -> Path:
    """Return the path of the package. :raises MissingError: if it is not there."""
    packages = sorted(folder.glob(f"mptcplab_{version}_*.deb"))
    if not packages:
        raise MissingError(f"{folder} has no Debian package of version {version}", hint="make deb")
    return packages[0]


if __name__ == "__main__":
    run_main(main, name="release")
