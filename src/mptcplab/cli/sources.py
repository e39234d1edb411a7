# SPDX-License-Identifier: MIT
"""Load the scenario that a command names: a file, a pack, or an address of either."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mptcplab.cli.common import console
from mptcplab.packs import is_pack, is_url
from mptcplab.scenario.load import Experiment, load

if TYPE_CHECKING:
    from mptcplab.packs.open import OpenPack


@dataclass(frozen=True)
class LoadedSource:
    """A loaded scenario. ``file`` is what commands can name again; ``stem`` names its results folder."""

    experiment: Experiment
    file: Path
    stem: str
    pack: OpenPack | None = None

    def compare(self, folders: Sequence[Path]) -> None:
        """Print whether the recordings in ``folders`` have the numbers of those in the pack, if it has any."""
        if self.pack is None or not self.pack.manifest.recordings:
            return
        from mptcplab.packs.compare import compare_recordings

        # On standard error: with --json, standard output has one document and nothing else.
        out = console(stderr=True)
        for line in compare_recordings(self.pack.manifest, folders, platform.machine()).sentences():
            out.print(line, markup=False, soft_wrap=True)


@contextmanager
def loaded_source(
    file: Path | str,
    *,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    repeats: int | None = None,
    real_time: bool = False,
    executes: bool = False,
    trusted: bool = False,
) -> Iterator[LoadedSource]:
    """Load the scenario in ``file``; the files of a pack are there until the block ends.

    If the command ``executes`` runs, a pack that brings programs must be ``trusted``.
    :raises InputError: for a mistake in the scenario, and for a pack that is not acceptable.
    """
    if not is_url(str(file)) and not is_pack(Path(file)):
        path = Path(file)
        yield LoadedSource(
            load(path, overrides=overrides, seed=seed, repeats=repeats, real_time=real_time), path, path.stem
        )
        return
    from mptcplab.packs.open import open_pack

    with open_pack(file) as pack:
        experiment = load(
            pack.file, overrides=overrides, seed=seed, repeats=repeats, real_time=real_time, named=pack.named
        )
        if executes:
            pack.check_trust(experiment, trusted=trusted)
        yield LoadedSource(pack.restore_name(experiment), pack.source, pack.file.stem, pack)
