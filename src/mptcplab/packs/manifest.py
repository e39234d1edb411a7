# SPDX-License-Identifier: MIT
"""The manifest of a pack: its scenario, its files with their digests, what made it, and the recordings in it.

It claims nothing that the reader does not check: digests are computed again, and what a run executes is found by
loading the scenario.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from mptcplab.errors import InputError
from mptcplab.fields import Whole
from mptcplab.files import format_json

FORMAT = 1
NAME = "manifest.json"
#: The folders of the scenario's files and of recordings.
SCENARIO_FOLDER, RECORDINGS_FOLDER = "scenario", "recordings"
_MAX_BYTES = 16 << 20

Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Text = Annotated[str, StringConstraints(max_length=300, pattern=r"^[^\x00-\x1f\x7f]*$")]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class PackedRecording(_Part):
    """One run in the pack. ``run`` is the digest of its scenario and seed, ``facts`` what else determined it.

    ``files`` has the digest of each file's numbers by its name, see :mod:`mptcplab.packs.compare`.
    """

    run: Digest
    seed: Whole
    settings: tuple[tuple[Text, Text], ...] = ()
    facts: dict[str, Any]
    files: dict[str, Digest]


class Manifest(_Part):
    """The content of a pack. ``files`` has the digests of all other members; ``plugins`` names what it does not bring.

    ``kernels`` has the key of each lab kernel that the scenario names, as far as the packing machine had it.
    """

    format: Whole
    mptcplab: Text
    architecture: Text
    scenario: str
    title: Text
    kernels: dict[Text, Digest | None] = Field(default_factory=dict)
    plugins: tuple[Text, ...] = ()
    files: dict[str, Digest]
    recordings: dict[str, PackedRecording] = Field(default_factory=dict)

    def to_json(self) -> bytes:
        """Return it as the member of an archive."""
        return f"{format_json(self.model_dump(mode='json'), levels=3)}\n".encode()


def read_manifest(content: bytes) -> Manifest:
    """Return the manifest of a pack. :raises InputError: if this version cannot read it."""
    if len(content) > _MAX_BYTES:
        raise _unreadable("is too large")
    try:
        written = json.loads(content)
        number = written.get("format") if isinstance(written, dict) else None
    except (ValueError, RecursionError) as error:
        raise _unreadable("is not JSON") from error
    if isinstance(number, int) and number > FORMAT:
        message = f"the pack has format {number}, and this version of mptcplab reads {FORMAT}"
        raise InputError(message if number < 10**6 else "the pack has an unknown format", hint="update mptcplab")
    try:
        manifest = Manifest.model_validate_json(content)
    except ValidationError as error:
        place = ".".join(str(part) for part in error.errors()[0]["loc"][:2])
        raise _unreadable(f"is wrong at {place[:60]!a}" if place else "is wrong") from error
    if manifest.format != FORMAT or manifest.scenario not in manifest.files:
        raise _unreadable("names no scenario in it" if manifest.format == FORMAT else "has no valid format")
    return manifest


def lone_manifest(name: str, content: bytes) -> Manifest:
    """Return the manifest of a pack that has nothing but one scenario file, and is not made by its author."""
    files = {name: digest_of(content)}
    return Manifest(format=FORMAT, mptcplab="", architecture="", title="", scenario=name, files=files)


def digest_of(content: bytes) -> str:
    """Return the SHA-256 digest of ``content``."""
    return hashlib.sha256(content).hexdigest()


def run_digest(scenario: Mapping[str, Any], seed: int) -> str:
    """Return the digest of a resolved scenario and a seed: the run, whatever kernel and programs execute it."""
    return digest_of(json.dumps([scenario, seed], sort_keys=True).encode())


def _unreadable(what: str) -> InputError:
    return InputError(f"the pack's manifest {what}", hint="use a pack that `mptcplab pack` has made")
