# SPDX-License-Identifier: MIT
"""Fixtures of the lab's tests. A machine without the lab kernel fails them: nothing here is skipped for that."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from mptcplab.engine.tools import compile_tools, steer_program
from mptcplab.engine.virtual.engine import VirtualEngine
from mptcplab.errors import MissingError
from mptcplab.kernel import KernelBuild, find_kernel
from mptcplab.kernel.data import TESTED_VERSIONS
from mptcplab.plan.steering import STEER

from . import shared_recordings
from .bench import Bench


def pytest_sessionstart() -> None:
    """Prepare the kept recordings, in the process that starts the others."""
    if shared_recordings.starts_session():
        shared_recordings.begin()


def pytest_sessionfinish() -> None:
    """Remove what is too large to keep, in the process that started the others."""
    if shared_recordings.starts_session():
        shared_recordings.end()


@pytest.fixture(scope="session", autouse=True)
def _own_cpu() -> None:
    """One CPU per worker of pytest-xdist: labs beside each other on one CPU would take turns."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker.startswith("gw"):
        mine = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {mine[int(worker[2:]) % len(mine)]})


def _kernel(version: str) -> KernelBuild:
    try:
        return find_kernel(version)
    except MissingError as error:
        pytest.fail(f"{error.message}; {error.hint}", pytrace=False)


class _Engines(Mapping[str, VirtualEngine]):
    """An engine for each kernel that we support, made when a test asks for it: most tests need one kernel only."""

    def __init__(self, tools: Mapping[str, Path]) -> None:
        self._tools = tools
        self._made: dict[str, VirtualEngine] = {}

    def __getitem__(self, version: str) -> VirtualEngine:
        if version not in TESTED_VERSIONS:
            raise KeyError(version)
        if version not in self._made:
            self._made[version] = VirtualEngine(_kernel(version), self._tools)
        return self._made[version]

    def __iter__(self) -> Iterator[str]:
        return iter(TESTED_VERSIONS)

    def __len__(self) -> int:
        return len(TESTED_VERSIONS)


@pytest.fixture(scope="session")
def engines() -> Mapping[str, VirtualEngine]:
    """An engine for each kernel that we support."""
    return _Engines({**compile_tools(), STEER: steer_program()})


@pytest.fixture(scope="session")
def shared_results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder of all workers and of later sessions: a run that several tests look at is executed once."""
    if shared_recordings.keeps():
        return shared_recordings.kept_folder()
    base = tmp_path_factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared"


@pytest.fixture
def bench(engines: Mapping[str, VirtualEngine], tmp_path: Path, shared_results: Path) -> Bench:
    """Runs scenarios and plans in a folder of the test's own."""
    return Bench(engines, tmp_path, shared_results)
