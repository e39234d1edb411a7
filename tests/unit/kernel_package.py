# SPDX-License-Identifier: MIT
"""A package mptcplab-kernel that tests install: an entry without a kernel, and programs of a line each."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from mptcplab import prebuilt

NAME = "mptcplab-kernel 9.8"
KEY = "f" * 64


def install_prebuilt(
    monkeypatch: pytest.MonkeyPatch,
    site: Path,
    *,
    inputs: str = "",
    programs: Mapping[str, str] | None = None,
    **manifest: object,
) -> Path:
    """Write a package to the folder `site`, let Python find it, and return its folder.

    `inputs` is the hash of its kernel's inputs, `programs` has the hash of each program's source. `manifest` replaces
    entries of the manifest.
    """
    folder = site / "mptcplab_kernel"
    entry = folder / "kernels" / f"7.2-{KEY[:12]}"
    entry.mkdir(parents=True)
    (folder / "__init__.py").touch()
    (entry / "linux").write_bytes(b"ELF")
    facts = {"format": 1, "version": "7.2", "release": "7.2.1-mptcplab", "key": KEY, "inputs": inputs}
    facts |= {"source": {"sha256": "s1"}, "config_sha256": "c", "built": "2026-01-01", "lost_options": []}
    (entry / "entry.json").write_text(json.dumps(facts))
    for name in programs or {}:
        program = folder / "programs" / name / name
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/true\n")
    described = {
        "format": 1,
        "version": "9.8",
        "machine": os.uname().machine,
        "glibc": "2.17",
        "programs": programs or {},
    }
    (folder / "manifest.json").write_text(json.dumps(described | manifest))
    monkeypatch.setattr(prebuilt, "MODULE", folder.name)
    monkeypatch.syspath_prepend(str(site))
    return folder
