# SPDX-License-Identifier: MIT
"""Folders outside of the Python package that belong to it: the kernel's options, the workload program."""

from __future__ import annotations

from pathlib import Path

#: Files of a study's folder beside its scenarios: its tables, what its source says, and its possible test beds.
STUDY_DESCRIPTIONS = frozenset({"study.toml", "source.toml", "beds.toml"})


def find_shipped_folder(installed: str, checkout: str, *, proof: str) -> Path | None:
    """Return the folder with the file ``proof``: ``_data/INSTALLED`` of an installed package, or ``CHECKOUT``."""
    package = Path(__file__).resolve().parent
    candidates = [package / "_data" / installed, *(parent / checkout for parent in (package, *package.parents))]
    return next((folder for folder in candidates if (folder / proof).is_file()), None)
