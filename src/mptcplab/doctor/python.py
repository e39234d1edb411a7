# SPDX-License-Identifier: MIT
"""Checks this Python and the packages that mptcplab and its extras require according to its metadata."""

from __future__ import annotations

import platform
import shlex
import sys
from collections.abc import Iterator
from importlib import metadata

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet

from mptcplab.doctor.model import Finding, Level, finding_without_fix, words

_PACKAGE = "mptcplab"
_SHOWN_PACKAGES = 2


def check_python() -> Iterator[Finding]:
    """Check Python's version and the packages that every command needs."""
    try:
        package = metadata.metadata(_PACKAGE)
    except metadata.PackageNotFoundError:
        command = f"{shlex.quote(sys.executable)} -m pip install --editable ."
        yield Finding("mptcplab", Level.MISSING, "is not installed, only imported", "its packages", command)
        return
    yield _version(package["Requires-Python"] or "")
    if missing := _missing_packages().get(""):
        command = shlex.join([sys.executable, "-m", "pip", "install", *missing])
        yield Finding(
            "Python packages", Level.BROKEN, f"{words(missing)} not installed, or too old", "every command", command
        )
    else:
        yield finding_without_fix("Python packages", "all that mptcplab needs")


def check_extras() -> Iterator[Finding]:
    """Say which extras are there: their packages are for optional features and for maintainers, so none is missing."""
    try:
        extras = sorted({_extra_of(requirement) for requirement in _requirements()} - {""})
    except metadata.PackageNotFoundError:
        return  # check_python reports it
    missing = _missing_packages()
    complete = [extra for extra in extras if extra not in missing]
    others = [f"{extra} (lacks {_list_packages(missing[extra])})" for extra in extras if extra in missing]
    parts = [f"with {words(complete)}" if complete else "", f"without {words(others)}" if others else ""]
    yield finding_without_fix("extras", f"{'; '.join(filter(None, parts))}: for optional features and maintainers")


def _list_packages(packages: list[str]) -> str:
    return words(packages) if len(packages) <= _SHOWN_PACKAGES else f"{len(packages)} packages"


def _missing_packages() -> dict[str, list[str]]:
    """Return the packages that are not installed, or too old, by the extra that needs them; "" is every command."""
    missing: dict[str, list[str]] = {}
    for requirement in _requirements():
        if not _is_installed(requirement):
            package = f"{requirement.name}{requirement.specifier}"
            missing.setdefault(_extra_of(requirement), []).append(package)
    return missing


def _requirements() -> Iterator[Requirement]:
    for text in metadata.requires(_PACKAGE) or []:
        try:
            yield Requirement(text)
        except InvalidRequirement:
            continue


def _version(required: str) -> Finding:
    version = platform.python_version()
    if version in SpecifierSet(required, prereleases=True):
        return finding_without_fix("Python", f"{version} at {sys.executable}")
    message = f"{version} is not {required}"
    return Finding("Python", Level.BROKEN, message, "every command", "install a newer Python and mptcplab with it")


def _extra_of(requirement: Requirement) -> str:
    """Return the extra that needs the package; empty if every command does."""
    if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
        return ""
    for extra in metadata.metadata(_PACKAGE).get_all("Provides-Extra") or []:
        if requirement.marker.evaluate({"extra": extra}):
            return str(extra)
    return ""


def _is_installed(requirement: Requirement) -> bool:
    if requirement.marker is not None and not _extra_of(requirement) and not requirement.marker.evaluate({"extra": ""}):
        return True  # this machine does not need it
    try:
        return requirement.specifier.contains(metadata.version(requirement.name), prereleases=True)
    except metadata.PackageNotFoundError:
        return False
