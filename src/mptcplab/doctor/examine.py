# SPDX-License-Identifier: MIT
"""Runs all checks, in the order of the report: what every experiment needs comes first."""

from __future__ import annotations

import itertools
import platform

import mptcplab
from mptcplab.doctor.host import check_extras, check_host, check_python
from mptcplab.doctor.kernel import check_kernels
from mptcplab.doctor.model import DoctorReport, Finding, Level, LinuxDistribution, detect_system
from mptcplab.doctor.programs import check_build, check_programs, check_proxies, check_radios, check_stock


def examine() -> DoctorReport:
    """Check this machine. This boots an empty lab and changes nothing outside our cache."""
    system = detect_system()
    checks = (
        check_python(),
        check_programs(system),
        check_host(),
        check_kernels(),
        # What only some experiments need, and what none does.
        check_build(system),
        check_proxies(system),
        check_radios(system),
        check_stock(system),
        check_extras(),
    )
    findings = merge_installs(tuple(itertools.chain.from_iterable(checks)), system)
    return DoctorReport(describe_machine(system), findings)


def describe_machine(system: LinuxDistribution) -> str:
    """Return the versions of mptcplab, of the distribution and of its kernel, in one line."""
    return f"mptcplab {mptcplab.__version__} on {system.name}, Linux {platform.release()}, {platform.machine()}"


def merge_installs(findings: tuple[Finding, ...], system: LinuxDistribution) -> tuple[Finding, ...]:
    """Return the findings with one command that installs the packages of all of them."""
    packages = {
        level: [name for finding in findings if finding.level == level for name in finding.packages] for level in Level
    }
    if packages[Level.BROKEN] and packages[Level.MISSING]:
        packages = dict.fromkeys(Level, packages[Level.BROKEN] + packages[Level.MISSING])
    return tuple(
        Finding(
            f.subject,
            f.level,
            f.message,
            f.needed_for,
            system.install(packages[f.level]) if f.packages else f.command,
            f.packages,
        )
        for f in findings
    )
