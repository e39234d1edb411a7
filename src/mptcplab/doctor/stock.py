# SPDX-License-Identifier: MIT
"""Reports what `--engine stock` needs: QEMU, and a kernel image. Only runs with this engine need them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from mptcplab.doctor.model import Finding, finding_without_fix, words
from mptcplab.doctor.packages import LinuxDistribution
from mptcplab.engine.stock.machine import PACKAGE, QEMU
from mptcplab.kernel.stock import DEFAULT_STOCK, list_stock

_SUBJECT = "engine stock"


def check_stock(system: LinuxDistribution) -> Iterator[Finding]:
    """Say whether the engine is ready, and the commands that make it so."""
    kernels = [kernel.release for kernel in list_stock()]
    commands = [] if shutil.which(QEMU) else [system.install([PACKAGE])]
    commands += [] if kernels else [f"mptcplab kernel stock {DEFAULT_STOCK}"]
    # Most experiments use the lab kernel, so this is not among what should be fixed.
    yield finding_without_fix(_SUBJECT, f"needs: {'; '.join(commands)}" if commands else f"QEMU, with {words(kernels)}")
