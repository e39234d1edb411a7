# SPDX-License-Identifier: MIT
"""Reports whether the programs of radio links are installed. Only a scenario with an access point needs them."""

from __future__ import annotations

from collections.abc import Iterator

from mptcplab.doctor.model import Finding, finding_without_fix, words
from mptcplab.doctor.packages import LinuxDistribution
from mptcplab.doctor.programs import missing_packages, missing_programs, radio_programs

_SUBJECT = "programs of radio links"


def check_radios(system: LinuxDistribution) -> Iterator[Finding]:
    """List the programs that are installed, and the command for the others."""
    programs = radio_programs()
    missing = missing_programs(programs)
    message = f"{words([name for name in programs if name not in missing]) or 'none'} there"
    # Most scenarios have no radio, so this is not among what should be fixed.
    command = f"; for others: {system.install(missing_packages(missing))}" if missing else ""
    yield finding_without_fix(_SUBJECT, f"{message}{command}")
