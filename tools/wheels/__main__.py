# SPDX-License-Identifier: MIT
"""``python -m tools.wheels``: builds all wheels, and has auditwheel check the platform of the one with the kernel."""

from __future__ import annotations

import argparse
from pathlib import Path

from tools.wheels.audit import check_platform
from tools.wheels.build import build_wheels
from tools.wheels.command import DIST, run_main
from tools.wheels.contents import choose_kernels


def main() -> None:
    """Build, check, and print the wheels' paths. Wheels of earlier builds are removed."""
    parser = argparse.ArgumentParser(prog="python -m tools.wheels", description="Build the wheels of a release.")
    parser.add_argument("--out", type=Path, default=DIST, help="folder of the wheels")
    out: Path = parser.parse_args().out
    for earlier in out.glob("mptcplab[-_]*.whl"):
        earlier.unlink()
    wheels = build_wheels(out, choose_kernels())
    check_platform(wheels[-1])
    for wheel in wheels:
        print(f"{wheel} ({wheel.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    run_main(main)
