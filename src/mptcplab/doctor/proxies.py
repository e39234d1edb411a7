# SPDX-License-Identifier: MIT
"""Reports which programs of gateways are built. Only a gateway that names one needs it."""

from __future__ import annotations

from collections.abc import Iterator

from mptcplab.doctor.model import Finding, Level, fine, words
from mptcplab.errors import LabError
from mptcplab.proxies.catalog import RECIPES, is_built

_SUBJECT = "programs of gateways"


def check_proxies() -> Iterator[Finding]:
    """List the programs that are built with their versions, and the command that builds the others."""
    try:
        built = {recipe: is_built(recipe) for recipe in RECIPES.values()}
    except LabError as error:
        yield Finding(_SUBJECT, Level.MISSING, error.message, "gateways", error.hint or "")
        return
    found = [f"{recipe.name} {recipe.version}" for recipe, is_there in built.items() if is_there]
    others = [recipe.name for recipe, is_there in built.items() if not is_there]
    message = f"{words(found) or 'none'} built"
    # Most scenarios have no gateway, so this is not among what should be fixed.
    yield fine(_SUBJECT, f"{message}; for others: mptcplab gateways build {' '.join(others)}" if others else message)
