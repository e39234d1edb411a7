# SPDX-License-Identifier: MIT
"""Statistics of the captures of a recorded run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mptcplab.capture.end import End
from mptcplab.capture.files import FilesStatistics, statistics_of_files
from mptcplab.errors import InputError
from mptcplab.recording.record import Recording


def recorded_statistics(recording: Recording, node: str, ends: Sequence[End] = ()) -> FilesStatistics:
    """Return the statistics of all connections with these ``ends`` in the captures at the interfaces of ``node``.

    :raises InputError: if the run captured nothing there, or no such connection.
    :raises MissingError: if tshark is not installed.
    """
    return statistics_of_files(captures_of(recording, node), ends)


def captures_of(recording: Recording, node: str) -> list[Path]:
    """Return the captures at the interfaces of ``node``, in the order of the scenario's links.

    :raises InputError: if there are none.
    """
    links = [link["name"] for link in recording.manifest["links"] if node in link["between"]]
    captures = recording.captures
    found = [captures[f"{node}-{link}"] for link in links if f"{node}-{link}" in captures]
    if not found:
        hint = f'add to the scenario: record.captures = [{{ node = "{node}" }}]'
        raise InputError(f"the run in {recording.folder} has no capture at {node}", hint=hint)
    return found
