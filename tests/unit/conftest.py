# SPDX-License-Identifier: MIT
"""Fixtures of several modules: studies that a test may measure without a lab, scenario files, and gateways."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.example_studies import Labs, write_studies
from tests.unit.gateway_network import Make, scenario
from tests.unit.scenario_files import Write

from mptcplab import prebuilt
from mptcplab.api import beds, reproduction
from mptcplab.api import experiments as table_lacks
from mptcplab.doctor import lacks
from mptcplab.doctor.model import LinuxDistribution
from mptcplab.scenario.schema import Scenario
from mptcplab.study import library as study_load


@pytest.fixture
def studies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two studies of two tables each."""
    write_studies(tmp_path / "studies")
    monkeypatch.setattr(study_load, "_STUDIES", tmp_path / "studies")
    return tmp_path / "studies"


@pytest.fixture
def labs(monkeypatch: pytest.MonkeyPatch, studies: Path) -> Labs:
    assert studies.is_dir()
    made = Labs()
    for module in (reproduction, beds):
        monkeypatch.setattr(module, "execute", made.execute)
    monkeypatch.setattr(table_lacks, "find_missing", made.find_missing)
    return made


@pytest.fixture
def debian(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Debian whose user is not root, with all that builds need."""
    monkeypatch.setattr(lacks, "detect_system", lambda: LinuxDistribution("debian", "Debian"))
    monkeypatch.setattr(lacks, "find_missing_tools", list)
    monkeypatch.setattr(lacks, "toolchain_of", lambda _: None)


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Return the scenario of some gateways and further tables, on the network of gateway_network."""

    def build(*tables: str, settings: tuple[str, ...] = ()) -> Scenario:
        return scenario(tmp_path, *tables, settings=settings)

    return build


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a scenario file and return its path."""

    def write_file(text: str, name: str = "scenario.toml") -> Path:
        file = tmp_path / name
        file.write_text(text)
        return file

    return write_file


@pytest.fixture(autouse=True)
def _without_prebuilt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide a package mptcplab-kernel that is installed beside the tests; `tests.unit.kernel_package` makes others."""
    monkeypatch.setattr(prebuilt, "MODULE", "mptcplab_kernel_that_is_hidden")
