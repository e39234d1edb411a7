# SPDX-License-Identifier: MIT
"""Load scenarios: from a file, a pack, or an address of either. This module imports nothing that runs need."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mptcplab.engine.defaults import DEFAULT_ENGINE
from mptcplab.engine.protocol import engine_kind
from mptcplab.errors import InputError
from mptcplab.packs import is_pack, is_url
from mptcplab.plan.algorithms import check_algorithms
from mptcplab.scenario.examples import MARK, find_example
from mptcplab.scenario.load import Experiment
from mptcplab.scenario.load import load as load_file

if TYPE_CHECKING:
    from mptcplab.packs.open import OpenPack

#: Keys of a scenario with their values: as a mapping, or as texts ``KEY=VALUE`` as for ``--set``.
Changes = Mapping[str, object] | Sequence[str]
_STRUCTURED = (bool, list, tuple, Mapping)


def load(
    file: str | Path,
    *,
    set: Changes = (),
    seed: int | None = None,
    repeats: int | None = None,
    engine: str = DEFAULT_ENGINE,
) -> Experiment:
    """Read, check and expand a scenario: its sweep points, and their runs with different seeds.

    ``file`` is a scenario file, or ``@NAME`` for a scenario that comes with mptcplab. ``set`` changes keys, as
    ``--set`` does: ``{"links.link1.rate": "5 Mbit/s"}``. A key may have wildcards, and takes precedence over the sweep.
    ``seed`` is the first seed, ``repeats`` the number of runs of each point; None for the scenario's. ``engine``
    is the engine that will execute the runs: some checks are for virtual time only.

    :raises InputError: for a mistake in the scenario or in ``set``, and for a pack or an address, which
        :func:`open_source` loads. A mistake in a key is a :class:`mptcplab.scenario.document.ScenarioError`, with its
        place.
    """
    if is_url(str(file)) or is_pack(Path(file)):
        message = f"{file} is not a scenario file, but a pack or an address"
        raise InputError(message, hint="use open_source: its files are there while the block lasts")
    with open_source(
        resolve_example(file), overrides=override_texts(set), seed=seed, repeats=repeats, engine=engine
    ) as source:
        return source.experiment


@dataclass(frozen=True)
class Source:
    """A loaded scenario, and the pack that it comes from, if any. ``experiment.file`` is what a command can name."""

    experiment: Experiment
    pack: OpenPack | None = None

    def compare(self, folders: Sequence[Path]) -> list[str]:
        """Return sentences on whether the recordings in ``folders`` have the numbers of the pack's recordings.

        Empty if there is no pack, or if it has no recordings.
        """
        if self.pack is None or not self.pack.manifest.recordings:
            return []
        from mptcplab.packs.compare import compare_recordings

        return list(compare_recordings(self.pack.manifest, folders, platform.machine()).sentences())


@contextmanager
def open_source(
    file: str | Path,
    *,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    repeats: int | None = None,
    engine: str = DEFAULT_ENGINE,
    executes: bool = False,
    trusted: bool = False,
) -> Iterator[Source]:
    """Load the scenario in a file, in a pack, or at the address of either. A pack's files stay until the block ends.

    ``overrides`` are texts ``KEY=VALUE``. If the caller ``executes`` runs, a pack that brings programs must be
    ``trusted``.

    :raises InputError: for a mistake in the scenario, and for a pack that is not acceptable.
    """
    # The lab kernel's engine is not imported to learn that it has virtual time.
    real_time = engine != DEFAULT_ENGINE and not engine_kind(engine)[1].capabilities.virtual_time
    if not is_url(str(file)) and not is_pack(Path(file)):
        experiment = load_file(Path(file), overrides=overrides, seed=seed, repeats=repeats, real_time=real_time)
        check_algorithms(experiment)
        yield Source(experiment)
        return
    from mptcplab.packs.open import open_pack

    with open_pack(file) as pack:
        experiment = load_file(
            pack.file, overrides=overrides, seed=seed, repeats=repeats, real_time=real_time, named=pack.named
        )
        if executes:
            pack.check_trust(experiment, trusted=trusted)
        check_algorithms(experiment)
        yield Source(pack.restore_name(experiment), pack)


def override_texts(changes: Changes) -> tuple[str, ...]:
    """Return changes of keys as the texts ``KEY=VALUE`` of ``--set``."""
    if isinstance(changes, str):
        return (changes,)
    if not isinstance(changes, Mapping):
        return tuple(changes)
    return tuple(f"{key}={_toml(value) if isinstance(value, _STRUCTURED) else value}" for key, value in changes.items())


def _toml(value: object) -> str:
    """Return a value as TOML in one line. Quantities are their text, such as ``5 Mbit/s``."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{json.dumps(key)} = {_toml(below)}' for key, below in value.items())} }}"
    return json.dumps(str(value), ensure_ascii=False)


def resolve_example(file: str | Path) -> Path:
    """Return the path of a scenario file, or of the example that ``@NAME`` stands for.

    :raises InputError: if there is no such example.
    """
    text = str(file)
    return find_example(text[1:]) if text.startswith(MARK) and not Path(text).exists() else Path(text)
