# SPDX-License-Identifier: MIT
"""Make a pack of a scenario: everything that it names, and its recordings if asked for."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

import mptcplab
from mptcplab.campaign.identity import resolve_scenario
from mptcplab.errors import InputError, LabError, reason
from mptcplab.files import report_write_errors, write_bytes
from mptcplab.kernel.cache import find_kernel
from mptcplab.packs import SUFFIX, is_pack
from mptcplab.packs.archive import (
    FORMAT,
    NAME,
    RECORDINGS_FOLDER,
    SCENARIO_FOLDER,
    Manifest,
    PackedRecording,
    digest_of,
    run_digest,
    write_archive,
)
from mptcplab.packs.compare import number_digests, read_run
from mptcplab.recording.record import Recording, is_complete
from mptcplab.scenario.document import NamedFiles
from mptcplab.scenario.load import Experiment, load


@dataclass(frozen=True)
class Pack:
    """A pack that has been made: its bytes, its manifest, and how many recordings of the results folder it lacks."""

    content: bytes
    manifest: Manifest
    other_recordings: int = 0


@dataclass(frozen=True)
class WrittenPack:
    """A pack in ``file``, and the SHA-256 of the file."""

    pack: Pack
    file: Path
    sha256: str

    @property
    def document(self) -> dict[str, Any]:
        """The JSON document of ``mptcplab pack --json``."""
        return {"file": str(self.file), "sha256": self.sha256, **self.pack.manifest.model_dump(mode="json")}


def write_pack(file: str | Path, *, results: str | Path | None = None, out: str | Path | None = None) -> WrittenPack:
    """Write one file with a scenario and everything that it names, for others.

    ``results`` is a results folder, whose recordings of this scenario's runs become a part of it. ``out`` is the file
    to write, by default NAME.mptcplab.zip in the working directory.

    :raises InputError: if ``file`` is a pack, if the scenario cannot be packed, or there is no recording of its runs.
    :raises LabError: if ``out`` cannot be written.
    """
    scenario = Path(file)
    if is_pack(scenario):
        raise InputError(f"{file} is a pack already", hint="copy it, or name a scenario file")
    pack = make_pack(scenario, None if results is None else Path(results))
    target = Path(out) if out is not None else Path(f"{scenario.stem}{SUFFIX}")
    if target.exists() and not is_pack(target):
        raise InputError(f"{target} exists, and is not a pack", hint="name another file with --out")
    with report_write_errors(target):
        write_bytes(target, pack.content)
    return WrittenPack(pack, target, digest_of(pack.content))


def make_pack(file: Path, results: Path | None = None) -> Pack:
    """Return the pack of the scenario ``file``, with the recordings of its runs in the folder ``results``.

    :raises InputError: if the scenario or what it names cannot be packed, or there is no recording of its runs.
    """
    named = NamedFiles()
    experiment = load(file, named=named)
    members, scenario = _scenario_members(file, named)
    recordings, other = _find_recordings(experiment, results) if results is not None else ({}, 0)
    for name, recording in recordings.items():
        members |= _recording_members(name, recording)
    manifest = Manifest(
        format=FORMAT,
        mptcplab=mptcplab.__version__,
        architecture=platform.machine(),
        scenario=scenario,
        title=experiment.title,
        kernels={name: _kernel_key(name) for name in sorted({point.scenario.kernel for point in experiment.points})},
        plugins=tuple(sorted(_plugins_of(experiment))),
        files={name: digest_of(content) for name, content in members.items()},
        recordings={name: _describe(recording) for name, recording in recordings.items()},
    )
    return Pack(write_archive({**members, NAME: manifest.to_json()}), manifest, other)


def _scenario_members(file: Path, named: NamedFiles) -> tuple[dict[str, bytes], str]:
    """Return the files of the scenario by their names in the pack, and the name of the scenario itself.

    They keep their places among each other, below the folder that they have in common.
    """
    for named_file in named.files.values():
        if not named_file.is_portable:
            hint = "write a name relative to the scenario: the pack is opened in another folder"
            raise InputError(f"{file} names '{named_file.name}' by its place on this machine", hint=hint)
    paths = [_absolute(file), *(_absolute(named_file.path) for named_file in named.files.values())]
    common = os.path.commonpath([path.parent for path in paths])
    members: dict[str, bytes] = {}
    for path in paths:
        try:
            members[f"{SCENARIO_FOLDER}/{path.relative_to(common).as_posix()}"] = path.read_bytes()
        except OSError as error:
            raise InputError(f"{path}: {reason(error)}", hint="the scenario names it") from error
    return members, next(iter(members))


def _absolute(path: Path) -> Path:
    """Return the absolute path without ``..``, but with the links as the scenario names them."""
    return Path(os.path.abspath(path))


def _find_recordings(experiment: Experiment, results: Path) -> tuple[dict[str, Recording], int]:
    """Return the recordings of the experiment's runs by name, and the number of others in the folder.

    :raises InputError: if there is none.
    """
    wanted = {run_digest(resolve_scenario(run), run.seed) for run in experiment.runs}
    folders = sorted(folder for folder in (results / "runs").glob("*") if is_complete(folder))
    recordings: dict[str, Recording] = {}
    for folder in folders:
        recording = Recording(folder)
        if read_run(recording).digest in wanted:
            recordings[folder.name] = recording
    if not recordings:
        message = f"'{results}' has no recording of this scenario's runs"
        hint = "name the results folder of `mptcplab run` with this file and without --set and --seed"
        raise InputError(message, hint=hint)
    return recordings, len(folders) - len(recordings)


def _recording_members(name: str, recording: Recording) -> dict[str, bytes]:
    folder = recording.folder
    files = sorted(file for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    return {f"{RECORDINGS_FOLDER}/{name}/{file.relative_to(folder).as_posix()}": file.read_bytes() for file in files}


def _describe(recording: Recording) -> PackedRecording:
    run = read_run(recording)
    files = number_digests(recording.folder)
    return PackedRecording(run=run.digest, seed=run.seed, settings=run.settings, facts=run.facts, files=files)


def _kernel_key(name: str) -> str | None:
    """Return the key of a lab kernel that this machine has; None if it has none of this name."""
    try:
        return find_kernel(name).key
    except LabError:
        return None


def _plugins_of(experiment: Experiment) -> set[str]:
    """Return the modules from outside of the package whose kinds the experiment uses."""
    modules = {type(part).__module__ for point in experiment.points for part in _parts(point.scenario)}
    ours = mptcplab.__name__
    return {
        module.removeprefix("mptcplab_plugin_").partition(".")[0]
        for module in modules
        if module.partition(".")[0] != ours
    }


def _parts(value: Any) -> Iterator[BaseModel]:
    """Yield a model and all models in it."""
    if isinstance(value, BaseModel):
        yield value
        below: Iterable[Any] = (member for _, member in value)
    elif isinstance(value, dict):
        below = value.values()
    elif isinstance(value, (list, tuple)):
        below = value
    else:
        return
    for member in below:
        yield from _parts(member)
