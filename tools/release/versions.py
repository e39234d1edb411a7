# SPDX-License-Identifier: MIT
"""The version of mptcplab in all files that name it: reads, compares and writes them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from pathlib import Path

from mptcplab.errors import InputError, LabError

_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
_UNRELEASED = "## [Unreleased]\n"
_CHANGELOG, _DEBIAN, _CITATION = "CHANGELOG.md", "debian/changelog", "CITATION.cff"
#: A citation without a date has no year. Before the first release there is none.
_CITED = re.compile(r"^(version: \S+\n)(?:date-released: \S+\n)?", re.M)
#: The sentence of the changelog that the first release ends.
_NOT_YET = re.compile(r"\s+No version has been released yet: [^.]*\.")
_MAINTAINER = re.compile(r"^Maintainer: (.+)$", re.M)


@dataclass(frozen=True)
class Place:
    """A file that names the version, perhaps more than once. The first group of `pattern` is the version."""

    file: str
    pattern: re.Pattern[str]

    def read(self, root: Path) -> str:
        """Return the version in the checkout `root`. :raises LabError: if the file names none, or two."""
        versions = sorted({match[1] for match in self.pattern.finditer((root / self.file).read_text())})
        if len(versions) != 1:
            raise LabError(f"{self.file} names {' and '.join(versions) or 'no version'}")
        return versions[0]

    def write(self, root: Path, version: str) -> None:
        """Replace the version in the checkout `root`."""
        text = (root / self.file).read_text()
        (root / self.file).write_text(self.pattern.sub(lambda match: match[0].replace(match[1], version), text))


#: The version in what a reader copies to a workflow: a tag, or a package for pip.
_WORKFLOW = re.compile(r"(?:\bv|mptcplab==)(\d+\.\d+\.\d+)\b")
#: Files in which the version is replaced. Both changelogs get an entry.
_REPLACED = (
    Place("src/mptcplab/__init__.py", re.compile(r'^__version__ = "([^"]+)"$', re.M)),
    Place(_CITATION, re.compile(r"^version: (\S+)$", re.M)),
    Place("docs/ci.md", _WORKFLOW),
    Place("action.yml", _WORKFLOW),
    Place("ci/install", _WORKFLOW),
)
PLACES = (*_REPLACED, Place(_DEBIAN, re.compile(r"\Amptcplab \(([^)]+)\) ")))


def check_versions(root: Path) -> str:
    """Return the version on which all files agree. :raises LabError: naming the files if they differ."""
    versions = {place.file: place.read(root) for place in PLACES}
    if len(set(versions.values())) != 1:
        raise LabError(f"versions differ: {', '.join(f'{file} has {version}' for file, version in versions.items())}")
    version = versions[_DEBIAN]
    parse_version(version)
    return version


def check_changelog(root: Path, version: str) -> None:
    """Check that the changelog describes the version. :raises LabError: if it does not."""
    text = (root / _CHANGELOG).read_text()
    heading = re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    if heading is None:
        hint = "`scripts/release prepare VERSION` writes the version and its heading"
        raise LabError(f"{_CHANGELOG} has no section of version {version} with a date", hint=hint)
    if not re.search(r"^- ", heading[1], re.M):
        raise LabError(f"the section of version {version} in {_CHANGELOG} names no change")


def prepare(root: Path, version: str, date: datetime) -> None:
    """Write `version` to all files, and give the unreleased changes its heading.

    :raises InputError: if it is not a version, or not later than the present one. :raises LabError: if files disagree.
    """
    present = check_versions(root)
    if parse_version(version) <= parse_version(present):
        raise InputError(f"{version} is not later than {present}, the present version")
    changes = (root / _CHANGELOG).read_text()
    if _UNRELEASED not in changes:
        raise LabError(f"{_CHANGELOG} has no heading '{_UNRELEASED.strip()}'")
    for place in _REPLACED:
        place.write(root, version)
    citation = root / _CITATION
    citation.write_text(_CITED.sub(rf"\1date-released: {date:%Y-%m-%d}\n", citation.read_text()))
    heading = f"{_UNRELEASED}\n## [{version}] - {date:%Y-%m-%d}\n"
    changes = _NOT_YET.sub("", changes).replace(_UNRELEASED, heading, 1)
    (root / _CHANGELOG).write_text(changes)
    debian = root / _DEBIAN
    entry = f"mptcplab ({version}) bookworm; urgency=medium\n\n  * Release {version}; see CHANGELOG.md.\n\n"
    debian.write_text(f"{entry} -- {_read_maintainer(root)}  {format_datetime(date)}\n\n{debian.read_text()}")


def _read_maintainer(root: Path) -> str:
    match = _MAINTAINER.search((root / "debian" / "control").read_text())
    if match is None:
        raise LabError("debian/control names no maintainer")
    return match[1]


def parse_version(version: str) -> tuple[int, int, int]:
    """Return the parts of a version. :raises InputError: if it has not three numbers."""
    match = _VERSION.fullmatch(version)
    if match is None:
        raise InputError(f"'{version}' is not a version", hint="a version has three numbers, such as 0.2.0")
    major, minor, patch = map(int, match.groups())
    return major, minor, patch
