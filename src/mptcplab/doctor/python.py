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


def check_python() -> Iterator[Finding]:
    """Check Python's version, the packages that every command needs, and those of extras."""
    try:
        package = metadata.metadata(_PACKAGE)
    except metadata.PackageNotFoundError:
        command = f"{shlex.quote(sys.executable)} -m pip install --editable ."
        yield Finding("mptcplab", Level.MISSING, "is not installed, only imported", "its extras", command)
        return
    yield _version(package["Requires-Python"] or "")
    missing: dict[str, list[Requirement]] = {}
    for requirement in _requirements():
        if not _is_installed(requirement):
            missing.setdefault(_extra_of(requirement), []).append(requirement)
    for extra, requirements in sorted(missing.items()):
        yield _missing_finding(extra, requirements)
    extras = sorted({_extra_of(requirement) for requirement in _requirements()} - {""} - set(missing))
    if "" not in missing:
        with_extras = f", with those of the extra{'s' if len(extras) > 1 else ''} {words(extras)}" if extras else ""
        yield finding_without_fix("Python packages", f"all that mptcplab needs{with_extras}")


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


def _missing_finding(extra: str, requirements: list[Requirement]) -> Finding:
    packages = [f"{requirement.name}{requirement.specifier}" for requirement in requirements]
    command = shlex.join([sys.executable, "-m", "pip", "install", *packages])
    use = f"the extra {extra}" if extra else "every command"
    level = Level.MISSING if extra else Level.BROKEN
    return Finding("Python packages", level, f"{words(packages)} not installed, or too old", use, command)
