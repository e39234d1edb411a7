# SPDX-License-Identifier: MIT
"""Reports which programs of gateways are installed or built. Only a gateway that names one needs it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from mptcplab.doctor.model import Finding, Level, finding_without_fix, words
from mptcplab.doctor.packages import LinuxDistribution
from mptcplab.doctor.programs import gateway_programs, missing_packages, missing_programs
from mptcplab.errors import LabError
from mptcplab.proxies.catalog import RECIPES, is_built

_SUBJECT = "programs of gateways"


def debian_programs() -> dict[str, tuple[str, ...]]:
    """Return the programs that each kind of gateway uses; without those kinds that are built."""
    built = {recipe.name for recipe in RECIPES.values()}
    return {name: programs for name, programs in gateway_programs().items() if name not in built}


def check_proxies(system: LinuxDistribution) -> Iterator[Finding]:
    """List the programs that are installed or built, and the commands for the others."""
    try:
        built = {recipe.name: is_built(recipe) for recipe in RECIPES.values()}
    except LabError as error:
        yield Finding(_SUBJECT, Level.MISSING, error.message, "gateways", error.hint or "")
        return
    packaged = debian_programs()
    ready = [name for name, programs in packaged.items() if not missing_programs(programs)]
    ready += [f"{name} {RECIPES[name].version}" for name, is_there in built.items() if is_there]
    packages = missing_packages(itertools.chain.from_iterable(packaged.values()))
    others = [name for name, is_there in built.items() if not is_there]
    commands = [system.install(packages)] if packages else []
    commands += [f"mptcplab gateways build {' '.join(others)}"] if others else []
    message = f"{words(ready) or 'none'} there"
    # Most scenarios have no gateway, so this is not among what should be fixed.
    yield finding_without_fix(_SUBJECT, f"{message}; for others: {'; '.join(commands)}" if commands else message)
