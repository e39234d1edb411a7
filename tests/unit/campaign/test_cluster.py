# SPDX-License-Identifier: MIT
"""``--cluster``: its errors, and the report of a differing worker. No cluster is started."""

from __future__ import annotations

import builtins
import pickle
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.unit.engine.test_parts import SCENARIO

from mptcplab.campaign import cluster
from mptcplab.errors import InputError, LabError, MissingError
from mptcplab.scenario.load import load

#: Importing Dask takes long.
pytestmark = pytest.mark.slow

FACTS: dict[str, Any] = {
    "recorder": "aa",
    "kernel": {"key": "bb"},
    "programs": {"ip": "cc", "tc": "dd"},
    "libraries": {"libc.so.6": "ee"},
    "seed": 1,
}


def test_missing_dask_is_named_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def import_others(name: str, *rest: Any, **more: Any) -> Any:
        if name.split(".")[0] == "distributed":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", import_others)
    with pytest.raises(MissingError) as error, cluster.connect("local"):
        pass
    assert error.value.hint == f"{sys.executable} -m pip install 'distributed>=2024.5'"


@pytest.mark.parametrize("address", ["local:0", "local:many", "local:-1", "local:٣", "local:9999999"])
def test_number_of_local_workers(address: str) -> None:
    with pytest.raises(InputError, match="is not a number of workers"), cluster.connect(address):
        pass


def test_nobody_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_CONNECT_SECONDS", 1)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{unused.getsockname()[1]}"
    with pytest.raises(InputError, match="there is no scheduler"), cluster.connect(address):
        pass


@pytest.mark.parametrize("address", ["nonsense://here", "tcp://", ":::"])
def test_what_is_no_address(address: str) -> None:
    """Each in a process of its own: what distributed leaves running after a failure keeps it from starting again."""
    code = f"""
from mptcplab.campaign import cluster
from mptcplab.errors import InputError
cluster._CONNECT_SECONDS = 1
try:
    with cluster.connect({address!r}):
        pass
except InputError as error:
    print(error.message)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == f"--cluster {address}: there is no scheduler\n", done.stderr


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"kernel": {"key": "zz"}}, "kernel"),
        ({"recorder": "zz"}, "mptcplab"),
        ({"programs": {"ip": "zz", "tc": "dd"}}, "ip"),
        ({"libraries": {"libc.so.6": "zz"}, "kernel": {}}, "kernel, libc.so.6"),
        ({"libraries": {}}, "libc.so.6"),
    ],
)
def test_difference_of_a_worker_is_named(change: dict[str, Any], named: str) -> None:
    error = cluster._difference(FACTS | change, FACTS, "tcp://192.0.2.1:1")
    assert error.message == f"worker tcp://192.0.2.1:1 has another {named} than this machine"


@pytest.mark.parametrize("name", ["../escaped", "/tmp/escaped", "out/../../escaped"])
def test_files_of_a_worker_stay_in_the_recording(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    with pytest.raises(LabError, match="sent a file named"):
        cluster._write({name: b"x"}, folder)
    assert not list(tmp_path.glob("**/escaped"))


def test_files_survive_the_way(tmp_path: Path) -> None:
    for place in ("a", "b"):
        (tmp_path / place).mkdir()
    (tmp_path / "a" / "out").mkdir()
    (tmp_path / "a" / "out" / "x.out").write_bytes(b"\x00\xff")
    cluster._write(cluster._read(tmp_path / "a"), tmp_path / "b")
    assert cluster._read(tmp_path / "b") == {"out/x.out": b"\x00\xff"}


def test_runs_and_errors_can_be_sent(tmp_path: Path) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(SCENARIO)
    run = load(file).runs[1]
    again = pickle.loads(pickle.dumps(run))
    assert (again.seed, again.point.scenario) == (run.seed, run.point.scenario)
    error = pickle.loads(pickle.dumps(MissingError("no 'ip'", hint="install it")))
    assert (error.message, error.hint, type(error)) == ("no 'ip'", "install it", MissingError)
