# SPDX-License-Identifier: MIT
"""What this machine lacks for what mptcplab can do, and the command that mends each.

What is needed is never written down here: it is asked of the code that needs it (the plans that are compiled, the lists
of the kernel's build, the package's own metadata). `model` has the words, `packages` other distributions' names,
`programs`, `python`, `host` and `kernel` look, `examine` runs them all.
"""

from __future__ import annotations

from mptcplab.doctor.examine import examine
from mptcplab.doctor.model import Finding, Level, Report

__all__ = ["Finding", "Level", "Report", "examine"]
