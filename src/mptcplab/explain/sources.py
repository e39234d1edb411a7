# SPDX-License-Identifier: MIT
"""All files that a user names, as one evidence: each is recognised by its content, and assigned to a host.

Files of one folder or archive of our script are one host. In other files, the words *client* and *server* in a name or
folder tell the host; files without such a word belong to one host.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from mptcplab.capture.analysis import Analysis
from mptcplab.capture.packet import read_packets
from mptcplab.capture.summary import Summary, summarise
from mptcplab.errors import InputError
from mptcplab.explain.evidence import Evidence
from mptcplab.explain.readers.collection import (
    CAPTURES,
    COUNTERS,
    RESULTS_MARK,
    RUN_MARK,
    Collection,
    open_collection,
    printable,
)
from mptcplab.explain.readers.facts import HostFacts, Place
from mptcplab.explain.readers.host import (
    busy_share,
    connections_of,
    host_of,
    listener_protocol,
    ports_connected,
    subflows_of,
    waits_in,
)
from mptcplab.explain.readers.text import TextReader

_INDEX = "index.txt"
_ROLE = re.compile(r"(?:^|[^a-z])(client|server)(?:[^a-z]|$)")
#: The host of files that name none.
_NAMELESS = "host"


@dataclass
class Sources:
    """The files that were read. ``unread`` could not be read on the machine, ``skipped`` is not understood."""

    facts: dict[str, HostFacts] = field(default_factory=dict)
    capture: Summary | None = None
    understood: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    #: Hosts by whether they open the connections, as the user said.
    roles: dict[str, bool] = field(default_factory=dict)

    @property
    def evidence(self) -> Evidence:
        """All of it as records."""
        every = list(self.facts.values())
        hosts = [host_of(facts, self.roles.get(facts.name)) for facts in every]
        clients = [facts for facts, host in zip(every, hosts, strict=True) if host.opens]
        ports = {port for facts in clients for port in ports_connected(facts)}
        hosts = [
            replace(host, protocol=listener_protocol(facts, ports)) if host.opens is False else host
            for facts, host in zip(every, hosts, strict=True)
        ]
        subflows = [subflow for facts in every for subflow in subflows_of(facts)]
        connections = [connection for facts in every for connection in connections_of(facts)]
        cpus = {facts.name: share for facts in every if (share := busy_share(facts)) is not None}
        every_wait = [waits for facts in every if (waits := waits_in(facts)) is not None]
        has_sockets = any(facts.sockets or "ss" in facts.kinds for facts in every)
        return Evidence(
            hosts=tuple(hosts),
            subflows=tuple(subflows) if has_sockets else None,
            connections=tuple(connections) if has_sockets else None,
            cpus=cpus or None,
            waits=tuple(wait for waits in every_wait for wait in waits) if every_wait else None,
            captured=None if self.capture is None else self.capture.connections,
        )

    def places(self, host: str, word: str) -> list[Place]:
        """Return where a word was read about a host."""
        facts = self.facts.get(host)
        return [] if facts is None else facts.places.get(word, [])


def read_sources(paths: Sequence[Path], client: str | None = None) -> Sources:
    """Read all files, folders and archives. ``client`` is the host that opens the connections, if the user says so.

    :raises InputError: if a file cannot be read, nothing in one is recognised, or there is no host ``client``.
    :raises MissingError: if there are captures, and tshark is not installed.
    """
    sources = Sources()
    with tempfile.TemporaryDirectory(prefix="mptcplab-explain-") as scratch:
        captures: list[Path] = []
        for part in (part for path in paths for part in _parts(path)):
            collection = open_collection(part, Path(scratch))
            if not _add_texts(sources, collection) and not collection.captures:
                hint = "see docs/explain.md for what is understood; `mptcplab collect` prints a script that gathers it"
                raise InputError(f"nothing in {collection.name} is recognised", hint=hint)
            captures += collection.captures
            sources.skipped += collection.skipped
        if captures:
            sources.capture = _summary(captures, sources)
    if client is not None:
        _assign_roles(sources, client)
    return sources


def read_texts(collections: Sequence[Collection]) -> Sources:
    """Return what the texts of collections say, without their captures."""
    sources = Sources()
    for collection in collections:
        _add_texts(sources, collection)
        sources.skipped += collection.skipped
    return sources


def run_folder(path: Path) -> Path | None:
    """Return the folder of the only run of a results folder, or ``path`` if it is a run; None if it is neither.

    :raises InputError: if it has several runs.
    """
    if (path / RUN_MARK).is_file():
        return path
    runs = path / RESULTS_MARK
    if not runs.is_dir():
        return None
    folders = sorted(folder for folder in runs.iterdir() if (folder / RUN_MARK).is_file())
    if len(folders) > 1:
        hint = f"name one run, like {printable(str(folders[0]))}"
        raise InputError(f"{printable(str(path))} has {len(folders)} runs, not one observation", hint=hint)
    return folders[0] if folders else None


def _parts(path: Path) -> list[Path]:
    """Return what to read of a path: of a run, its counters and captures."""
    run = run_folder(path)
    if run is None:
        return [path]
    return [folder for folder in (run / COUNTERS, run / CAPTURES) if folder.is_dir()]


def _add_texts(sources: Sources, collection: Collection) -> int:
    """Read the texts of a collection; return how many lines were recognised."""
    total = 0
    homes = {str(PurePosixPath(name).parent) for name in collection.texts if PurePosixPath(name).name == _INDEX}
    is_run = collection.name == COUNTERS
    for name, text in collection.texts.items():
        path = PurePosixPath(name)
        is_ours = collection.is_host and str(path.parent) in homes
        host = path.parent.name or _NAMELESS if is_ours or is_run else _host_name(path)
        facts = sources.facts.setdefault(host, HostFacts(host))
        if is_ours and path.name == _INDEX:
            _read_index(facts, text, sources)
            continue
        lines = TextReader(facts).read(name, text)
        total += lines
        if lines:
            sources.understood.append(name)
        elif not is_ours and not is_run:
            sources.skipped.append(f"{name}: nothing in it is recognised")
    sources.facts = {host: facts for host, facts in sources.facts.items() if facts.recognised_lines}
    return total


def _host_name(path: PurePosixPath) -> str:
    """Return the host of a text; the name nearest to the file decides."""
    for part in reversed(path.parts):
        roles: set[str] = set(_ROLE.findall(part.lower()))
        if len(roles) == 1:
            return roles.pop()
    return _NAMELESS


def _read_index(facts: HostFacts, text: str, sources: Sources) -> None:
    """Learn from our script's index what was asked without an answer: no line there means that there are none."""
    failed: set[str] = set()
    for line in text.splitlines()[1:]:
        parts = line.split("\t")
        if len(parts) != 3 or parts[0] == ".":
            continue
        file, status, about = (printable(part) for part in parts)
        if status == "read" and about == "ip mptcp endpoint show":
            facts.endpoints = facts.endpoints or []
        elif status == "read" and about == "ip mptcp monitor":
            facts.events = facts.events or []
        elif status != "read" and about not in failed:
            failed.add(about)
            sources.unread.append(f"{facts.name}: {file}: {about}")
            if file == "monitor.txt" and not facts.events:
                facts.events = None


def _summary(captures: list[Path], sources: Sources) -> Summary:
    analysis = Analysis()
    for packet in read_packets(captures):
        analysis.add(packet)
    names = [capture.name for capture in captures]
    sources.understood += [f"{name} (capture)" for name in names]
    return summarise(analysis, names)


def _assign_roles(sources: Sources, client: str) -> None:
    if client not in sources.facts:
        names = ", ".join(sources.facts) or "none"
        raise InputError(f"there is no host '{printable(client)}'", hint=f"the hosts are: {names}")
    sources.roles = {name: name == client for name in sources.facts}
