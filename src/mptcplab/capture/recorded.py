# SPDX-License-Identifier: MIT
"""Captures in recordings: the statistics of a run, and which runs files are of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from mptcplab.capture.end import End
from mptcplab.capture.files import FilesStatistics, statistics_of_files
from mptcplab.errors import InputError, LabError
from mptcplab.fields import LOOPBACK
from mptcplab.recording.record import Recording, is_complete

_FOLDER = "captures"
_MAX_NAMED = 8


def recorded_statistics(recording: Recording, node: str, ends: Sequence[End] = ()) -> FilesStatistics:
    """Return the statistics of all connections with these ``ends`` in the captures at the interfaces of ``node``.

    :raises InputError: if the run captured nothing there, or no such connection.
    :raises MissingError: if tshark is not installed.
    """
    return statistics_of_files(captures_of(recording, node), ends)


def captures_of(recording: Recording, node: str) -> list[Path]:
    """Return the captures at the interfaces of ``node``, in the order of the scenario's links; loopback comes last.

    :raises InputError: if there are none.
    """
    captures = recording.captures
    names = [f"{node}-{name}" for name in (*links_of(recording, node), LOOPBACK)]
    paths = [captures[name] for name in names if name in captures]
    if not paths:
        hint = f'add to the scenario: record.captures = [{{ node = "{node}" }}]'
        raise InputError(f"the run in {recording.folder} has no capture at {node}", hint=hint)
    return paths


def links_of(recording: Recording, node: str) -> list[str]:
    """Return the links that end at ``node``, in the order of the scenario."""
    return [link["name"] for link in recording.manifest["links"] if node in link["between"]]


def refuse_several_runs(files: Sequence[Path]) -> None:
    """Refuse files of several recorded runs as one capture: clocks, addresses and tokens of all runs are alike.

    :raises InputError: with the folders of the runs, and the point and seed of each.
    """
    runs = _files_by_run(files)
    if len(runs) > 1:
        example = next(iter(runs)) / _FOLDER / "*.pcap"
        texts = [f"{folder.name}: {_point(folder)}" for folder in list(runs)[:_MAX_NAMED]]
        more = f"; and {len(runs) - _MAX_NAMED} more" if len(runs) > _MAX_NAMED else ""
        hint = f"name files of one run, like {example}. The runs are {'; '.join(texts)}{more}"
        raise InputError(f"the files are of {len(runs)} runs, which do not form one capture", hint=hint)


def refuse_several_of_a_run(files: Sequence[Path]) -> None:
    """Refuse several files of one run where each is to be a run. :raises InputError: with the files of one place."""
    for folder, own_paths in _files_by_run(files).items():
        if len(own_paths) > 1:
            example = folder.parent / "*" / _FOLDER / own_paths[0].name
            message = (
                f"{len(own_paths)} of the files are of the run {folder.name}, and --runs takes each file for a run"
            )
            raise InputError(message, hint=f"name one file of each run, like {example}")


def _files_by_run(files: Sequence[Path]) -> dict[Path, list[Path]]:
    """Return the files that are in recordings, by the folder of the run."""
    paths: dict[Path, list[Path]] = {}
    for file in files:
        if file.parent.name == _FOLDER and is_complete(file.parent.parent):
            paths.setdefault(file.parent.parent, []).append(file)
    return paths


def _point(folder: Path) -> str:
    """Return the settings and the seed of a run in words."""
    return ", ".join(_settings(folder))


def _settings(folder: Path) -> Iterator[str]:
    try:
        manifest = Recording(folder).manifest
        yield from (f"{key} {value}" for key, value in manifest["settings"])
        yield f"seed {manifest['seed']}"
    except (LabError, KeyError, TypeError, ValueError):
        yield "not readable"
