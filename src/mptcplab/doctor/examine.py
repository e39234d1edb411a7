# SPDX-License-Identifier: MIT
"""All examinations, in the order in which people want to read them."""

from __future__ import annotations

import itertools
import platform

import mptcplab
from mptcplab.doctor.host import look_at_host
from mptcplab.doctor.kernel import look_at_kernels
from mptcplab.doctor.model import Finding, Level, Report
from mptcplab.doctor.packages import Distribution, this_system
from mptcplab.doctor.programs import look_at_build, look_at_programs
from mptcplab.doctor.python import look_at_python


def examine(system: Distribution | None = None) -> Report:
    """Look at this machine. Boots a lab for an instant; changes nothing but our own cache."""
    system = system or this_system()
    looks = (
        look_at_python(),
        look_at_programs(system),
        look_at_build(system),
        look_at_host(),
        look_at_kernels(),
    )
    findings = _together(tuple(itertools.chain.from_iterable(looks)), system)
    host = f"mptcplab {mptcplab.__version__} on {system.name}, Linux {platform.release()}, {platform.machine()}"
    return Report(host, findings)


def _together(findings: tuple[Finding, ...], system: Distribution) -> tuple[Finding, ...]:
    """Packages of findings of one level are installed by one command."""
    wanted = {
        level: [name for finding in findings if finding.level == level for name in finding.packages] for level in Level
    }
    if wanted[Level.BROKEN] and wanted[Level.MISSING]:
        wanted = dict.fromkeys(Level, wanted[Level.BROKEN] + wanted[Level.MISSING])
    return tuple(
        Finding(
            f.subject,
            f.level,
            f.says,
            f.needed_for,
            system.install(wanted[f.level]) if f.packages else f.command,
            f.packages,
        )
        for f in findings
    )
