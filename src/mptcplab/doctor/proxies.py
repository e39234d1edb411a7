# SPDX-License-Identifier: MIT
"""Reports which programs of gateways are installed or built. Only a gateway that names one needs it."""

from __future__ import annotations

from collections.abc import Iterator

from mptcplab.doctor.model import Finding, Level, fine, words
from mptcplab.doctor.packages import Distribution
from mptcplab.doctor.programs import lacking, of_gateways
from mptcplab.engine.tools import package_of
from mptcplab.errors import LabError
from mptcplab.proxies.catalog import RECIPES, is_built

_SUBJECT = "programs of gateways"


def check_proxies(system: Distribution) -> Iterator[Finding]:
    """List the programs that are installed or built, and the commands for the others."""
    try:
        built = {recipe.name: is_built(recipe) for recipe in RECIPES.values()}
    except LabError as error:
        yield Finding(_SUBJECT, Level.MISSING, error.message, "gateways", error.hint or "")
        return
    missing = {name: lacking(programs) for name, programs in of_gateways().items() if name not in built}
    ready = [name for name, programs in missing.items() if not programs]
    ready += [f"{name} {RECIPES[name].version}" for name, is_there in built.items() if is_there]
    packages = [package_of(program) for programs in missing.values() for program in programs]
    others = [name for name, is_there in built.items() if not is_there]
    commands = [system.install(packages)] if packages else []
    commands += [f"mptcplab gateways build {' '.join(others)}"] if others else []
    message = f"{words(ready) or 'none'} there"
    # Most scenarios have no gateway, so this is not among what should be fixed.
    yield fine(_SUBJECT, f"{message}; for others: {'; '.join(commands)}" if commands else message)
