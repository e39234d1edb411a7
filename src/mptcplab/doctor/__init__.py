# SPDX-License-Identifier: MIT
"""Checks what this machine lacks for mptcplab, and names the commands that fix it.

The requirements are not repeated here. They come from the code that has them: compiled plans, the lists of the kernel's
build, the package's metadata. `model` defines findings; `programs`, `host` and `kernel` contain the checks, `examine`
runs them all, and `lacks` says what a scenario or a study lacks.
"""

from __future__ import annotations

from mptcplab.doctor.examine import examine
from mptcplab.doctor.model import DoctorReport, Finding, Level

__all__ = ["DoctorReport", "Finding", "Level", "examine"]
