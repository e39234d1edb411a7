# SPDX-License-Identifier: MIT
"""Writes and reads the folder of one run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mptcplab.errors import LabError
from mptcplab.files import format_json
from mptcplab.lazy import pl
from mptcplab.recording import captures, samples
from mptcplab.recording.damage import report_damage

#: The format of the manifest. Recordings of other formats are not read.
FORMAT = 3
#: The hint for a damaged recording.
REPEAT_HINT = "delete the folder, and the run will be repeated"
_SCRATCH = ("init", "modules", "uml", "guest.json")
#: Files that become tables of samples and events. In a failed run they stay as they are, since they may be incomplete.
_RAW = ("sockets.jsonl", "queues.jsonl", "events.jsonl")


def finish(folder: Path, *, manifest: dict[str, Any], zero_ns: int) -> None:
    """Turn an engine's files in ``folder`` into a recording; writing the manifest completes it.

    :raises LabError: if a program's output does not have its format.
    """
    with report_damage("the run's output cannot be read", hint="a program's output does not have its format"):
        _write_samples(folder, manifest["programs"], zero_ns)
    captures.collect(folder, [program["name"] for program in manifest["programs"]])
    _remove(folder, (*_SCRATCH, *_RAW))
    _write_manifest(folder, {"format": FORMAT, **manifest})


def finish_failed(folder: Path, message: str) -> None:
    """Prepare the files of a failed run for inspection; without a manifest they are not a recording."""
    (folder / "error.txt").write_text(f"{message}\n")
    captures.collect_unchecked(folder)
    _remove(folder, _SCRATCH)


def _remove(folder: Path, names: Iterable[str]) -> None:
    for name in names:
        path = folder / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _write_samples(folder: Path, programs: list[dict[str, Any]], zero_ns: int) -> None:
    subflows: list[samples.Row] = []
    connections: list[samples.Row] = []
    for program in programs:
        if program["samples_itself"]:
            text = (folder / "out" / f"{program['name']}.out").read_text()
            node, name = program["node"], program["name"]
            of_subflows, of_connections = samples.parse_flow_output(text, node=node, program=name, zero_ns=zero_ns)
            subflows += of_subflows
            connections += of_connections
    sampled = folder / "sockets.jsonl"
    if sampled.exists():
        subflows += samples.parse_sampler_output(sampled.read_text())
    queues = folder / "queues.jsonl"
    if queues.exists():
        samples.write(map(json.loads, queues.read_text().splitlines()), folder / "queues.parquet")
    events = folder / "events.jsonl"
    if events.exists():
        samples.write(map(json.loads, events.read_text().splitlines()), folder / "events.parquet")
    samples.write(subflows, folder / "subflows.parquet")
    samples.write(connections, folder / "connections.parquet")


def _write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    part = folder / ".manifest.json"
    part.write_text(format_json(manifest, levels=2) + "\n")
    part.rename(folder / "manifest.json")


@dataclass(frozen=True)
class Recording:
    """A finished run on disk. All data is read on demand."""

    folder: Path

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Identity and description of the run. :raises LabError: if the folder is not a recording."""
        try:
            manifest = json.loads((self.folder / "manifest.json").read_text())
        except (OSError, ValueError) as error:
            raise LabError(f"the manifest of {self.folder} cannot be read", hint=REPEAT_HINT) from error
        if not isinstance(manifest, dict):
            raise LabError(f"the manifest of {self.folder} is not a JSON object", hint=REPEAT_HINT)
        if manifest.get("format") != FORMAT:
            version = f"format {manifest['format']}" if "format" in manifest else "no format number"
            message = (
                f"the recording {self.folder} has {version}, and this version of mptcplab reads only format {FORMAT}"
            )
            raise LabError(message, hint=REPEAT_HINT)
        return manifest

    @cached_property
    def subflows(self) -> pl.DataFrame:
        """Samples of subflows, see :mod:`mptcplab.recording.samples`; empty if nothing was sampled."""
        return self._table("subflows")

    @cached_property
    def connections(self) -> pl.DataFrame:
        """Samples of connections; empty if no program reports them."""
        return self._table("connections")

    @cached_property
    def queues(self) -> pl.DataFrame:
        """Samples of the queues of all directions with a rate: waiting bytes and packets, and drops so far."""
        return self._table("queues")

    @cached_property
    def events(self) -> pl.DataFrame:
        """Changes of the network: instant_ns, kind, link, direction, value; see docs/events.md."""
        return self._table("events", time="instant_ns")

    def _table(self, name: str, *, time: str = "time_ns") -> pl.DataFrame:
        file = self.folder / f"{name}.parquet"
        return pl.read_parquet(file) if file.exists() else pl.DataFrame({time: []}, schema={time: pl.Int64})

    def output(self, program: str, kind: str = "out") -> str:
        """Return the standard output (``out``) or standard error (``err``) of ``program``."""
        return (self.folder / "out" / f"{program}.{kind}").read_text(errors="replace")

    def counter(self, node: str, name: str) -> Any:
        """Return a counter file of ``node``, parsed if it is JSON."""
        text = (self.folder / "counters" / node / name).read_text()
        return json.loads(text or "null") if name.endswith(".json") else text

    @cached_property
    def machine(self) -> dict[str, Any]:
        """The state of the machine that the hosts share, see :mod:`mptcplab.guest.machine`; empty if the recording
        predates it."""
        file = self.folder / "machine.json"
        return dict(json.loads(file.read_text())) if file.exists() else {}

    @property
    def captures(self) -> dict[str, Path]:
        """The capture files of the run by ``NODE-LINK``."""
        return {file.stem: file for file in sorted((self.folder / "captures").glob("*.pcap"))}

    def program(self, name: str) -> dict[str, Any]:
        """Return start, end (ns from time zero) and exit status of one program."""
        return next(program for program in self.manifest["programs"] if program["name"] == name)


def relabel(recording: Recording, labels: dict[str, Any]) -> Recording:
    """Write ``labels``, the run's names in the current experiment, to the manifest; return the recording."""
    manifest = recording.manifest
    if all(manifest.get(key) == value for key, value in labels.items()):
        return recording
    _write_manifest(recording.folder, manifest | labels)
    return Recording(recording.folder)


def is_complete(folder: Path) -> bool:
    """Return whether ``folder`` contains a finished run."""
    return (folder / "manifest.json").is_file()
