# SPDX-License-Identifier: MIT
"""Formats in which the configuration of a node is written for a real machine. Packages have them, each as an object."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from mptcplab.plugins import PackagedParts
from mptcplab.scenario.schema import Scenario


@dataclass(frozen=True)
class ExportedFile:
    """A file of a format: its path on the machine, without the leading slash, and its mode."""

    path: str
    text: str
    mode: int = 0o644


class ExportFormat(Protocol):
    """A format, as an entry point of the group ``mptcplab.exports`` has it, with the name for ``--format``."""

    def export(
        self, scenario: Scenario, node: str, *, devices: Iterable[str], password_file: Path | None
    ) -> tuple[ExportedFile, ...]:
        """Return the files that make a real machine ``node``, which the scenario has.

        ``devices`` are texts ``LINK=DEVICE``. ``password_file`` has the password of the node's gateways.
        :raises InputError: if the format cannot express the node, or for a wrong device or password.
        """


#: All formats; the first is the default.
FORMATS = PackagedParts("mptcplab.exports", "format", dict.fromkeys(("sh", "networkd", "uci"), "mptcplab-export"))


def export_formats() -> list[str]:
    """Return the names of all formats, of packages that are installed or not."""
    return FORMATS.names


def format_named(name: str) -> ExportFormat:
    """Return a format with a name of :func:`export_formats`. :raises MissingError: if its package is missing."""
    export_format: ExportFormat = FORMATS.load(name)
    return export_format
