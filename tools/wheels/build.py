# SPDX-License-Identifier: MIT
"""Builds all wheels with hatchling. The same checkout gives the same bytes, in any folder and at any time."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.wheels.command import PACKAGES
from tools.wheels.contents import ROOT, ReleasedKernel, collect

from mptcplab.errors import LabError

#: 2 February 2020, the date that hatchling gives to files by default, in seconds since 1970.
DEFAULT_EPOCH = 1580601600


def source_epoch() -> int:
    """Return the time that files are dated with, in seconds since 1970: `SOURCE_DATE_EPOCH`, or a fixed one if that is
    empty."""
    return int(os.environ.get("SOURCE_DATE_EPOCH") or DEFAULT_EPOCH)


def build_wheels(out: Path, kernels: Sequence[ReleasedKernel]) -> list[Path]:
    """Build `mptcplab`, its packages and `mptcplab-kernel` to the folder `out`; return their paths in this order.

    :raises MissingError: without a compiler. :raises LabError: if a build fails.
    """
    projects = [ROOT, *(ROOT / "packages" / name for name in PACKAGES)]
    return [*(build_pure_wheel(project, out) for project in projects), build_kernel_wheel(out, kernels)]


def build_pure_wheel(project: Path, out: Path) -> Path:
    """Build the wheel of Python code to the folder `out`, depending on its release. :raises LabError: if that fails."""
    return _build(project, out, {"HATCH_BUILD_HOOK_ENABLE_CUSTOM": "true"})


def build_kernel_wheel(out: Path, kernels: Sequence[ReleasedKernel]) -> Path:
    """Build `mptcplab-kernel` to the folder `out`, and return its path.

    :raises MissingError: without a compiler. :raises LabError: if the build fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        collect(project, kernels, epoch=source_epoch())
        return _build(project, out, {})


def _build(project: Path, out: Path, environment: dict[str, str]) -> Path:
    """Build the wheel of a project to the folder `out`; return its path."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder],
            cwd=project,
            capture_output=True,
            text=True,
            env=os.environ | environment | {"SOURCE_DATE_EPOCH": str(source_epoch())},
            check=False,
        )
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise LabError(f"a wheel cannot be built: {last}", hint=done.stderr.strip() or None)
        (wheel,) = Path(folder).glob("*.whl")
        out.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copyfile(wheel, out / wheel.name))
